import { type ClusterSettings, JobLengths, type LengthCount, withCutoff } from '@goshawk/core';

/** The settings of the cluster. The cutoff is learned from completed jobs, unless it is configured. */
export class LearnedCutoff {
  readonly #configured: ClusterSettings;
  readonly #lengths = new JobLengths();
  #settings: ClusterSettings;

  constructor(configured: ClusterSettings) {
    this.#configured = configured;
    this.#settings = configured;
  }

  get settings(): ClusterSettings {
    return this.#settings;
  }

  /** Whether the cutoff is not configured. */
  get isLearned(): boolean {
    return this.#configured.policy.cutoffJobs !== null;
  }

  /** Records completed jobs. @returns whether the cutoff has changed */
  completed(counts: readonly LengthCount[]): boolean {
    const { policy, timings } = this.#configured;
    this.#lengths.add(counts);
    const before = this.#settings.policy.cutoffMs;
    const cutoffMs = this.#lengths.cutoffMs(before);
    const learnedFrom = this.#lengths.isEnough ? this.#lengths.seen : 0;
    this.#settings = { policy: withCutoff(policy, cutoffMs, learnedFrom), timings };
    return cutoffMs !== before;
  }
}
