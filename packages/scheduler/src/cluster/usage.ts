import {
  type Address,
  DecayingSum,
  JobLengths,
  LENGTHS_MAX,
  type LengthCount,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
  reserveWindowMs,
} from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';

/** Interval of reports in milliseconds. Central also uses them to decide when to resume matching. */
const REPORT_MS = 10_000;
const SHEDDING_REPORT_MS = 1_000;

/**
 * Reports statistics to central. Completed short and long work sizes the partition, and arrived short work
 * sizes the reserve.
 */
export class Usage {
  readonly #env: SchedulerEnvironment;
  /** The last central that welcomed this scheduler. It has received all statistics except `arrivedMs`. */
  #central: Address = NOBODY;
  #policy: PolicySettings | undefined;
  #shortMs = 0;
  #longMs = 0;
  /** Not reported yet. */
  #unreportedShortMs = 0;
  #unreportedTasks = 0;
  /** Recently arrived short work, for a new central. */
  #recentShortMs = new DecayingSum(0);
  /** Completed jobs, and those not yet reported. */
  readonly #lengths = new JobLengths();
  #unreportedLengths = new JobLengths();
  /** Time of the next report; Infinity: nothing to report. */
  #reportAt: Millis = Number.POSITIVE_INFINITY;

  /** @param jobLengths of jobs completed under an earlier incarnation, as saved */
  constructor(env: SchedulerEnvironment, jobLengths: unknown = []) {
    this.#env = env;
    if (isLengthCounts(jobLengths)) this.#lengths.add(jobLengths);
  }

  /** Lengths of all completed jobs, to be saved. */
  get jobLengths(): readonly LengthCount[] {
    return this.#lengths.counts();
  }

  /**
   * Reports recently arrived short work to a new central immediately. Otherwise central would assign the
   * slots that short jobs need to long jobs. Work that still waits counts twice, which favors short jobs and
   * decays.
   */
  centralChanged(central: Address, policy: PolicySettings, now: Millis): void {
    this.setPolicy(policy, now);
    if (central !== this.#central) {
      this.#unreportedShortMs = this.#recentShortMs.at(now);
      this.#unreportedTasks = 0;
      this.#unreportedLengths = new JobLengths();
      // A central that has learned its cutoff knows the jobs of an earlier incarnation.
      const centralHasLengths = this.#central === NOBODY && policy.cutoffJobs !== 0;
      if (!centralHasLengths) this.#unreportedLengths.add(this.#lengths.counts());
    }
    this.#central = central;
    if (this.#unreportedShortMs > 0 || this.#unreportedLengths.seen > 0)
      this.#send(central, { shortMs: 0, longMs: 0 });
    if (this.#reportsShares()) this.#scheduleReport(now);
  }

  /** Applies settings, whose cutoff may have changed. */
  setPolicy(policy: PolicySettings, now: Millis): void {
    const windowMs = reserveWindowMs(policy);
    if (this.#policy === undefined) this.#recentShortMs = new DecayingSum(windowMs);
    this.#recentShortMs.rescale(windowMs, now);
    this.#policy = policy;
  }

  /**
   * Records a completed job.
   *
   * @param runsMs run times of its tasks, or of a sample of them
   * @param workMs sum of the run times of all tasks, if runsMs is a sample
   */
  jobCompleted(runsMs: Float64Array, now: Millis, workMs?: Millis): void {
    if (typeof this.#policy?.cutoffJobs !== 'number') return;
    this.#lengths.completed(runsMs, workMs);
    this.#unreportedLengths.completed(runsMs, workMs);
    this.#scheduleReport(now);
  }

  /** Records the run time of a completed task. */
  taskCompleted(long: boolean, runMs: Millis): void {
    if (long) this.#longMs += runMs;
    else this.#shortMs += runMs;
  }

  /**
   * Records an arrived short batch.
   *
   * @param workMs estimate × tasks
   * @param isReported whether a need reports the batch to central
   */
  shortArrived(workMs: Millis, tasks: number, isReported: boolean, now: Millis): void {
    const countsForReserve = this.#policy?.reserve === 'auto';
    if (countsForReserve) this.#recentShortMs.add(workMs, now);
    if (isReported) return;
    if (countsForReserve) this.#unreportedShortMs += workMs;
    if (this.#reportsArrivals()) this.#unreportedTasks += tasks;
    if (this.#hasUnreported()) this.#scheduleReport(now);
  }

  /** Whether central uses the number of arriving tasks to decide when to resume matching. */
  #reportsArrivals(): boolean {
    return this.#policy?.preset.short.by === 'matching' && this.#policy.matching === 'auto';
  }

  #hasUnreported(): boolean {
    return this.#unreportedShortMs > 0 || this.#unreportedTasks > 0 || this.#unreportedLengths.seen > 0;
  }

  /** @param central NOBODY: none */
  report(central: Address, now: Millis): void {
    this.#reportAt = Number.POSITIVE_INFINITY;
    const hasShares = this.#reportsShares() && this.#shortMs + this.#longMs > 0;
    if (central !== NOBODY && (hasShares || this.#hasUnreported())) {
      this.#send(central, { shortMs: this.#shortMs, longMs: this.#longMs });
      this.#shortMs = 0;
      this.#longMs = 0;
    }
    if (this.#reportsShares() || this.#hasUnreported()) this.#scheduleReport(now);
  }

  #reportsShares(): boolean {
    return this.#policy?.shortPartition === 'auto';
  }

  #send(central: Address, done: Pick<MessageOf<'usage'>, 'shortMs' | 'longMs'>): void {
    const completed = this.#unreportedLengths.counts();
    const arrived = { arrivedMs: this.#unreportedShortMs, arrivedTasks: this.#unreportedTasks };
    this.#env.send(central, { type: 'usage', ...done, ...arrived, completed });
    if (completed.length > 0) this.#unreportedLengths = new JobLengths();
    this.#unreportedShortMs = 0;
    this.#unreportedTasks = 0;
  }

  #scheduleReport(now: Millis): void {
    const at = now + (this.#unreportedTasks > 0 ? SHEDDING_REPORT_MS : REPORT_MS);
    if (at >= this.#reportAt) return;
    this.#reportAt = at;
    this.#env.setTimer('usage', 0, at);
  }
}

function isLengthCounts(saved: unknown): saved is LengthCount[] {
  const isCount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
  const isOne = (of: Partial<LengthCount> | null): boolean =>
    Number.isInteger(of?.length) && isCount(of?.length) && isCount(of?.jobs) && isCount(of?.workMs);
  return Array.isArray(saved) && saved.every(isOne) && saved.length <= LENGTHS_MAX + 1;
}
