import { type Millis, sumOf } from '@goshawk/core';
import type { PolicyContext } from '@goshawk/policies';
import type { JobState } from './jobs.js';
import { KeptPlan } from './kept-plan.js';
import { progressiveFilling, startOne, type Turn } from './passes.js';
import { largestDemand, planJob } from './plan.js';
import type { ShareRules } from './shares.js';

export interface AltruismRules {
  /** Chance that a job yields what it need not use now. */
  readonly probability: number;
  /** When that is drawn: with a job's plan and once in `DRAWN_AGAIN_MS`, or at every turn. */
  readonly isDrawnEachTurn: boolean;
  /** Margin before the latest start, in median durations of tasks that run: borrowers are not preempted. */
  readonly holdMedians: number;
  /** A plan whose end is later than that of the one before is dropped, while the share is no smaller. */
  readonly keepsPromises: boolean;
  /** Which task of a job comes first: of the longest path to the end of the job, or what fits best. */
  readonly order: 'critical-path' | 'alignment';
}

const DRAWN_AGAIN_MS = 60_000;
/** The median of durations is worked out once in so long. */
const MEDIAN_EACH_MS = 10_000;
/** Fraction of planned tasks that may start or end off schedule before a new plan is made. */
const DRIFT_MAX = 0.05;
/** A job of more tasks to be started is planned some tasks at a time. */
const ONE_BY_ONE_MAX = 16;

/** Tasks that each job must start now to end as early as with its share alone. */
export class Altruism {
  readonly #rules: AltruismRules;
  readonly #context: PolicyContext;
  #holdMs: Millis = 0;
  #heldSince: Millis = Number.NEGATIVE_INFINITY;

  constructor(rules: AltruismRules, context: PolicyContext) {
    this.#rules = rules;
    this.#context = context;
  }

  startWhatMust(turn: Turn, by: ShareRules['by']): void {
    this.#measureHold(turn);
    for (const job of turn.jobs) this.#bringUpToDate(job, turn);
    progressiveFilling(turn, by, (job) => this.#startOne(job, turn));
  }

  #startOne(job: JobState, turn: Turn): boolean {
    const plan = job.plan!;
    return job.stages.some((stage) => {
      if (stage.view.waiting === 0 || plan.mustStart(stage.place, turn.now, this.#holdMs) === 0) return false;
      return startOne(turn, stage);
    });
  }

  #bringUpToDate(job: JobState, turn: Turn): void {
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
    const hasMoved = before === undefined || shares.haveMoved(before.checkedShare, share);
    // Before it is asked whether the plan still holds: who yields nothing follows only a new one.
    if (before !== undefined) this.#draw(before, hasMoved, now);
    if (hasMoved || this.#isOffPlan(job)) {
      const plan = planJob(job.problem(share, now), {
        ranks: this.#rules.order === 'alignment' ? undefined : job.paths,
        oneByOneMax: ONE_BY_ONE_MAX,
      });
      const keeps =
        this.#rules.keepsPromises &&
        before !== undefined &&
        now + plan.endMs > before.endAt + ROUNDING_MS &&
        !shares.hasShrunk(before.share, share) &&
        !job.hasOutlived(now) &&
        before.covers(job.unstarted());
      if (keeps) before.outdo(plan, share);
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
   * A job on schedule needs no new plan, and the old one remains valid after a few early starts. A job that
   * yields nothing takes what it can now, so it has to know that.
   */
  #isOffPlan({ plan, changes, drift }: JobState): boolean {
    if (plan === undefined) return true;
    if (!this.#rules.keepsPromises || !plan.isAltruistic) return changes > 0 || drift > 0;
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
