import { type Millis, sumOf } from '@goshawk/core';
import type { PolicyContext } from '@goshawk/policies';
import type { JobState } from './jobs.js';
import { KeptPlan } from './kept-plan.js';
import { progressiveFilling, startOne, type Turn } from './passes.js';
import { largestDemand, planJob } from './plan.js';
import type { ShareRules } from './shares.js';

export interface AltruismRules {
  /** Probability that a job yields resources it does not need now. */
  readonly probability: number;
  /**
   * Whether each turn draws anew if a job yields, rather than only when its share changes and every
   * `DRAWN_AGAIN_MS`.
   */
  readonly isDrawnEachTurn: boolean;
  /**
   * How long before its latest start a task starts, in median durations of running tasks. Borrowers are not
   * preempted.
   */
  readonly holdMedians: number;
  /**
   * Whether a new plan with a later end is discarded, unless the share shrank, a task overran its estimate,
   * or the old plan lacks tasks.
   */
  readonly keepsPlans: boolean;
  /** Which task of a job starts first: the one on the longest path to the end, or the one that fits best. */
  readonly order: 'critical-path' | 'alignment';
}

const DRAWN_AGAIN_MS = 60_000;
/** Interval at which the median of durations is recomputed. */
const MEDIAN_EACH_MS = 10_000;
/** Fraction of planned tasks that may start or end off schedule before a new plan is made. */
const DRIFT_MAX = 0.05;
/** A job with more tasks to start is planned several tasks at a time. */
const ONE_BY_ONE_MAX = 16;

/** Starts the tasks that must start now, so that each job ends as early as with its share alone. */
export class Altruism {
  readonly #rules: AltruismRules;
  readonly #context: PolicyContext;
  #holdMs: Millis = 0;
  #heldSince: Millis = Number.NEGATIVE_INFINITY;

  constructor(rules: AltruismRules, context: PolicyContext) {
    this.#rules = rules;
    this.#context = context;
  }

  startDue(turn: Turn, by: ShareRules['by']): void {
    this.#measureHold(turn);
    for (const job of turn.jobs) this.#updatePlan(job, turn);
    progressiveFilling(turn, by, (job) => this.#startOne(job, turn));
  }

  #startOne(job: JobState, turn: Turn): boolean {
    const plan = job.plan!;
    return job.stages.some((stage) => {
      if (stage.view.waiting === 0 || plan.mustStart(stage.place, turn.now, this.#holdMs) === 0) return false;
      return startOne(turn, stage);
    });
  }

  #updatePlan(job: JobState, turn: Turn): void {
    const { now, whole } = turn;
    const shares = turn.shares();
    const unended = job.stages.filter(
      ({ view }) => view.waiting + view.running > 0 || view.ended < view.tasks,
    );
    const largest = largestDemand(
      unended.map(({ view }) => view),
      whole.length,
    );
    const share = shares.of(job).map((amount, r) => Math.max(amount, largest[r]!));
    const before = job.plan;
    const hasMoved = before === undefined || shares.haveChanged(before.checkedShare, share);
    // The draw comes first, because a job that yields nothing needs a current plan.
    if (before !== undefined) this.#draw(before, hasMoved, now);
    if (hasMoved || this.#isOffPlan(job)) {
      const plan = planJob(job.problem(share, now), {
        ranks: this.#rules.order === 'alignment' ? undefined : job.paths,
        oneByOneMax: ONE_BY_ONE_MAX,
      });
      const keeps =
        this.#rules.keepsPlans &&
        before !== undefined &&
        now + plan.endMs > before.endAt + ROUNDING_MS &&
        !shares.hasShrunk(before.share, share) &&
        !job.hasOverrun(now) &&
        before.covers(job.unstarted());
      if (keeps) before.retain(plan, share);
      else {
        job.plan = new KeptPlan(plan, share, now);
        if (before === undefined) this.#draw(job.plan, true, now);
        else job.plan.inherit(before);
      }
      job.changes = 0;
      job.drift = 0;
    }
  }

  /**
   * Whether the job needs a new plan. A job on schedule does not, even after a few early starts. A job that yields
   * nothing takes everything it can now, so its plan must be current.
   */
  #isOffPlan({ plan, changes, drift }: JobState): boolean {
    if (plan === undefined) return true;
    if (!this.#rules.keepsPlans || !plan.isAltruistic) return changes > 0 || drift > 0;
    return drift > plan.unstarted * DRIFT_MAX;
  }

  #draw(plan: KeptPlan, hasMoved: boolean, now: Millis): void {
    const { probability, isDrawnEachTurn } = this.#rules;
    if (probability >= 1) return;
    if (!isDrawnEachTurn && !hasMoved && now < plan.drawnAt + DRAWN_AGAIN_MS) return;
    plan.isAltruistic = this.#context.random() < probability;
    plan.drawnAt = now;
  }

  #measureHold({ now, allJobs }: Turn): void {
    const { holdMedians } = this.#rules;
    if (holdMedians === 0 || now < this.#heldSince + MEDIAN_EACH_MS) return;
    const durations: { ms: Millis; tasks: number }[] = [];
    for (const { stages } of allJobs) {
      for (const { durationMs, view } of stages) {
        if (view.running > 0) durations.push({ ms: durationMs, tasks: view.running });
      }
    }
    if (durations.length === 0) return;
    this.#heldSince = now;
    durations.sort((a, b) => a.ms - b.ms);
    let left = sumOf(durations, ({ tasks }) => tasks) / 2;
    this.#holdMs = 0;
    for (const { ms, tasks } of durations) {
      this.#holdMs = holdMedians * ms;
      left -= tasks;
      if (left <= 0) break;
    }
  }
}

const ROUNDING_MS = 1e-3;
