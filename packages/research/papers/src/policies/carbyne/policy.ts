import type { Millis } from '@goshawk/core';
import { invariant } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  JobView,
  PolicyContext,
  PolicyExplanation,
  PolicyShares,
  RunEnd,
  RunView,
  StageView,
} from '@goshawk/policies';
import { fitsNow } from '@goshawk/policies';
import { Altruism, type AltruismRules } from './altruism.js';
import { Durations } from './durations.js';
import { explainWait } from './explaining.js';
import { byArrival, JobState, type StageState } from './jobs.js';
import { byScore, inOrder, type Leftover, progressiveFilling, strictFilling, type Turn } from './passes.js';
import { Rooms } from './rooms.js';
import { type ShareRules, Shares } from './shares.js';

/** Everything that distinguishes the policies of this family. */
export interface FamilyRules extends ShareRules {
  /** Rules by which jobs plan ahead and start only what they must; undefined: all resources are leftover. */
  readonly altruism?: AltruismRules;
  readonly leftover: Leftover;
  /** Events within this time after a turn wait for the next one. */
  readonly quantumMs: Millis;
}

/**
 * Handles scheduling events (Carbyne, Pseudocode 1): first the required starts, then the leftover resources.
 */
export class CarbyneFamily implements CentralPolicy {
  readonly #rules: FamilyRules;
  readonly #jobs = new Map<JobView, JobState>();
  /** Stages with waiting tasks, in order of arrival. */
  readonly #waiting = new Set<StageState>();
  readonly #rooms = new Rooms();
  readonly #durations = new Durations();
  readonly #altruism: Altruism | undefined;
  #whole = new Float64Array();
  #nextTurnAt: Millis = 0;

  constructor(rules: FamilyRules, context: PolicyContext) {
    this.#rules = rules;
    if (rules.altruism !== undefined) this.#altruism = new Altruism(rules.altruism, context);
  }

  update(changes: readonly ClusterChange[], now: Millis): void {
    for (const each of changes) this.#apply(each, now);
  }

  #apply(change: ClusterChange, now: Millis): void {
    switch (change.kind) {
      case 'opened':
        return this.#rooms.opened(change.worker);
      case 'freed':
        return this.#rooms.freed(change.worker);
      case 'closed':
      case 'left':
        return this.#rooms.closed(change.worker);
      case 'found':
        return this.#entered(change.run);
      case 'ended':
        return this.#ended(change.run, change.how, now);
      case 'arrived':
      case 'changed':
        this.#job(change.job).isChanged = true;
        return;
      case 'waiting':
        return this.#onWaiting(change.stage);
      case 'gone':
        for (const stage of this.#job(change.job).stages) this.#waiting.delete(stage);
        this.#jobs.delete(change.job);
        return;
      case 'solved':
        return;
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    if (now < this.#nextTurnAt) return draft.again(this.#nextTurnAt);
    this.#measure(cluster);
    const jobs = this.#jobsWithRoom();
    if (jobs.length > 0) {
      this.#nextTurnAt = now + this.#rules.quantumMs;
      const turn = this.#turn(jobs, draft, now);
      this.#altruism?.startDue(turn, this.#rules.by);
      this.#distributeLeftover(turn);
      if (this.#rules.leftover.kind === 'none') this.#waitForPlans(jobs, draft, now);
    }
    this.#rooms.trim();
  }

  shares(cluster: ClusterView): PolicyShares {
    this.#measure(cluster);
    const shares = this.#dueToAll();
    const dueTo = (view: JobView): ArrayLike<number> => {
      const job = this.#jobs.get(view);
      return job === undefined ? [] : shares.of(job);
    };
    return { by: this.#rules.by, dueTo };
  }

  explain(view: StageView, cluster: ClusterView, now: Millis): PolicyExplanation | undefined {
    const job = this.#jobs.get(view.job);
    if (job === undefined || view.waiting === 0) return undefined;
    this.#measure(cluster);
    const due = this.#dueToAll().of(job);
    const stage = job.stage(view);
    const waiting = new Set([...this.#waiting].map((each) => each.job));
    waiting.delete(job);
    return explainWait(stage, {
      resources: cluster.resources,
      whole: this.#whole,
      due,
      leftover: this.#rules.leftover,
      hasRoom: this.#rooms.open.some((worker) => fitsNow(view, worker)),
      others: waiting.size,
      now,
    });
  }

  #dueToAll(): Shares {
    const all = [...this.#jobs.values()];
    for (const job of all) job.refresh(this.#durations, this.#whole);
    return new Shares(all, this.#whole, this.#rules);
  }

  checkInvariants(cluster: ClusterView): void {
    let jobs = 0;
    for (const view of cluster.jobs) {
      jobs++;
      const job = this.#jobs.get(view);
      invariant(job !== undefined, () => `job ${view.number} is in the books but not known to the policy`);
      for (const stage of job.stages) {
        const { view: ofStage } = stage;
        invariant(
          ofStage.waiting === 0 || this.#waiting.has(stage),
          () =>
            `${ofStage.waiting} tasks of stage ${ofStage.index} wait, of which the policy was not notified`,
        );
      }
    }
    invariant(jobs === this.#jobs.size, () => `${this.#jobs.size} jobs, ${jobs} in the books`);
  }

  #job(view: JobView): JobState {
    let job = this.#jobs.get(view);
    if (job === undefined) {
      job = new JobState(view);
      this.#jobs.set(view, job);
    }
    return job;
  }

  #onWaiting(view: StageView): void {
    const job = this.#job(view.job);
    const stage = job.stage(view);
    job.isChanged = true;
    if (view.waiting > 0) this.#waiting.add(stage);
    else this.#waiting.delete(stage);
  }

  #entered({ stage }: RunView): void {
    const job = this.#job(stage.job);
    job.stage(stage);
    job.isChanged = true;
    job.drift = Number.POSITIVE_INFINITY;
  }

  #ended(run: RunView, how: RunEnd, now: Millis): void {
    const job = this.#job(run.stage.job);
    const stage = job.stage(run.stage);
    job.ended(stage, run, now, how);
    if (how === 'done') this.#durations.ended(run, stage.ran, now);
  }

  /** Updates the capacity. The array stays the same object while the amounts are equal. */
  #measure({ capacity, resources }: ClusterView): void {
    const whole = this.#whole;
    let isSame = whole.length === resources.length;
    for (let r = 0; r < resources.length; r++) isSame &&= whole[r] === (capacity[r] ?? 0);
    if (!isSame) this.#whole = Float64Array.from(resources, (_, r) => capacity[r] ?? 0);
  }

  #jobsWithRoom(): JobState[] {
    const jobs = new Set<JobState>();
    for (const stage of this.#waiting)
      if (!jobs.has(stage.job) && this.#rooms.hasRoom(stage)) jobs.add(stage.job);
    return [...jobs].sort(byArrival);
  }

  #turn(jobs: readonly JobState[], draft: Draft, now: Millis): Turn {
    const all = [...this.#jobs.values()];
    const { by, shares } = this.#rules;
    for (const job of shares === 'work' || by === 'user' ? all : jobs)
      job.refresh(this.#durations, this.#whole);
    let due: Shares | undefined;
    return {
      now,
      rooms: this.#rooms,
      whole: this.#whole,
      jobs,
      allJobs: all,
      shares: () => {
        due ??= new Shares(all, this.#whole, this.#rules);
        return due;
      },
      start: (stage, worker) => {
        const run = draft.start(stage.view, worker);
        if (run === undefined) return false;
        stage.job.started(stage, run.startedAt);
        if (stage.view.waiting === 0) this.#waiting.delete(stage);
        return true;
      },
    };
  }

  #distributeLeftover(turn: Turn): void {
    const { leftover, by } = this.#rules;
    switch (leftover.kind) {
      case 'srtf':
        return inOrder(turn, (job) => job.remainingWork(turn.now));
      case 'sjf':
        return inOrder(turn, (job) => job.criticalPathMs);
      case 'drf':
        return progressiveFilling(turn, by);
      case 'drf-strict':
        return strictFilling(turn, by);
      case 'score':
        return byScore(turn, leftover);
      case 'none':
        return;
    }
  }

  /** Requests a turn at each planned start, because idle room causes no event at that time. */
  #waitForPlans(jobs: readonly JobState[], draft: Draft, now: Millis): void {
    for (const { plan } of jobs) {
      const at = plan?.nextStart(now) ?? Number.POSITIVE_INFINITY;
      if (at < Number.POSITIVE_INFINITY) draft.again(at);
    }
  }
}
