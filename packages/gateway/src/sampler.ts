import type { Cluster } from '@goshawk/client';
import { GoshawkError, isFinal, type JobDetail, type JobSummary, type Millis } from '@goshawk/core';
import { type Findings, lackOf, mayBeSlow, suspectOf, waitsAsGang } from './findings.js';
import { STREAM_MS, type TaskStream } from './task-stream.js';
import type { WaitingLimits } from './waiting-limits.js';

/** Maximum number of jobs requested per poll. */
export const SAMPLED_JOBS_MAX = 12;
/** Maximum number of active and of recently ended jobs from which the sample is chosen. */
const LISTED_MAX = 200;
/**
 * Maximum of explained jobs × active jobs per poll, because central examines all waiting jobs to explain one.
 */
const EXPLAIN_COST_MAX = 20_000;
/** Number of unfinished, already sampled jobs that each poll refreshes, even if there are new jobs. */
export const REFRESHED_JOBS = 4;
/** Overlap (ms) of consecutive lists of ended jobs, so that a job that was not sampled is listed again. */
const SLACK_MS = 60_000;

/**
 * Requests details of a few jobs at each poll, least recently sampled first. The sampler never requests all
 * tasks of a job.
 */
export class Sampler {
  readonly #stream: TaskStream;
  readonly #limits: WaitingLimits;
  readonly #findings: Findings;
  /** Time of the last request for each job, oldest first. */
  readonly #askedAt = new Map<string, Millis>();
  /** Ended jobs whose attempts are complete, with the time of their end, which a retry changes. */
  readonly #done = new Map<string, Millis | undefined>();
  /** Estimates that users have stated, by job and stage. */
  readonly #stated = new Map<string, readonly (Millis | undefined)[]>();
  #lastAt: Millis | undefined;
  /** Jobs that ended in the hour before the first sample, when this process may not have run. */
  #earlier: readonly JobSummary[] = [];

  constructor(stream: TaskStream, limits: WaitingLimits, findings: Findings) {
    this.#stream = stream;
    this.#limits = limits;
    this.#findings = findings;
  }

  /**
   * @param now wall clock
   * @param failed failed jobs whose cause is shown; those of unknown cause are requested, too
   */
  async sample(
    cluster: Cluster,
    now: Millis,
    signal: AbortSignal,
    failed: readonly JobSummary[] = [],
  ): Promise<void> {
    const since = this.#lastAt === undefined ? now - STREAM_MS : this.#lastAt - SLACK_MS;
    const limit = LISTED_MAX;
    const [active, ended] = await Promise.all([
      cluster.jobs({ states: ['running', 'waiting'], limit, signal }),
      cluster.jobs({ states: ['completed', 'failed', 'cancelled'], since, all: true, limit, signal }),
    ]);
    const lastAt = this.#lastAt ?? now - STREAM_MS;
    if (this.#lastAt === undefined) this.#earlier = ended.jobs;
    this.#lastAt = now;
    this.#findings.noteDeadlines([...ended.jobs, ...active.jobs], Date.now());
    // A truncated list does not show which user has most of the waiting tasks.
    await this.#noteUsers(cluster, active.truncated ? [] : active.jobs, signal);
    const listed = new Set(ended.jobs.map(({ id }) => id));
    this.#earlier = this.#earlier.filter(({ id }) => !this.#done.has(id));
    const earlier = this.#earlier.filter(({ id }) => !listed.has(id));
    const { chosen, isPartial } = this.#choose([...ended.jobs, ...active.jobs, ...earlier]);
    if (isPartial || active.truncated || ended.truncated) this.#stream.leftOut(lastAt, now);
    const explained = Math.max(1, Math.floor(EXPLAIN_COST_MAX / Math.max(1, active.total)));
    const ids = new Set(chosen.map(({ id }) => id));
    const unexplained = failed.filter((job) => !ids.has(job.id) && this.#findings.causeOf(job) === undefined);
    await Promise.all([
      ...chosen.map((job, at) => this.#sampleJob(cluster, job, at >= chosen.length - explained, now, signal)),
      ...unexplained.map((job) => this.#sampleJob(cluster, job, false, now, signal)),
    ]);
  }

  /** Compares the user with most waiting tasks with the user's share, which is requested only if there is one. */
  async #noteUsers(cluster: Cluster, active: readonly JobSummary[], signal: AbortSignal): Promise<void> {
    const suspect = suspectOf(active);
    const shares =
      suspect === undefined ? undefined : await cluster.shares({ signal }).catch(() => undefined);
    this.#findings.noteFlood(suspect, shares);
  }

  /** Returns the estimates that the user has stated, by stage. They are requested once for a job that needs them. */
  async #statedBy(
    cluster: Cluster,
    detail: JobDetail,
    signal: AbortSignal,
  ): Promise<readonly (Millis | undefined)[] | undefined> {
    if (!mayBeSlow(detail)) return undefined;
    const { id } = detail;
    if (!this.#stated.has(id)) {
      const { spec } = await cluster.job(id).describe({ spec: true, signal });
      const { stages = [] } = (spec ?? {}) as {
        readonly stages?: readonly { readonly estimateMs?: Millis }[];
      };
      this.#stated.set(
        id,
        stages.map(({ estimateMs }) => estimateMs),
      );
    }
    for (const old of this.#stated.keys()) {
      if (this.#stated.size <= LISTED_MAX) break;
      this.#stated.delete(old);
    }
    return this.#stated.get(id);
  }

  #choose(jobs: readonly JobSummary[]): { chosen: JobSummary[]; isPartial: boolean } {
    const wanted = jobs.filter(
      ({ id, state, endedMs }) => !(isFinal(state) && this.#done.has(id) && this.#done.get(id) === endedMs),
    );
    const age = ({ id }: JobSummary) => this.#askedAt.get(id) ?? Number.NEGATIVE_INFINITY;
    // The sort is stable, so ended jobs precede others of equal age. They are listed only for a short time.
    const sorted = wanted.sort((one, other) => age(one) - age(other));
    const known = sorted
      .filter(({ id, state }) => !isFinal(state) && this.#askedAt.has(id))
      .slice(0, REFRESHED_JOBS);
    const chosen = [...new Set([...known, ...sorted])].slice(0, SAMPLED_JOBS_MAX);
    return { chosen, isPartial: chosen.length < wanted.length };
  }

  async #sampleJob(
    cluster: Cluster,
    { id, state, tasks }: JobSummary,
    isExplained: boolean,
    now: Millis,
    signal: AbortSignal,
  ) {
    remember(this.#askedAt, id, now);
    const handle = cluster.job(id);
    const asked = Date.now();
    try {
      const [detail, explained] = await Promise.all([
        handle.describe({ signal }),
        isExplained && tasks.waiting > 0 && !isFinal(state) ? handle.explain({ signal }) : undefined,
      ]);
      this.#stream.take(detail, asked, Date.now());
      this.#findings.noteJob(detail, Date.now(), await this.#statedBy(cluster, detail, signal));
      if (explained !== undefined) {
        this.#limits.note(explained, Date.now());
        const shares = waitsAsGang(explained) ? await cluster.shares({ signal }) : undefined;
        const lack = shares && lackOf(detail.stages, explained, shares);
        this.#findings.noteWaiting(explained, Date.now(), lack);
      }
      if (!isFinal(detail.state)) return;
      this.#done.set(id, detail.endedMs);
      for (const old of this.#done.keys()) {
        if (this.#done.size <= 4 * LISTED_MAX) break;
        this.#done.delete(old);
      }
    } catch (error) {
      // The job is gone, or its scheduler does not answer.
      if (!(error instanceof GoshawkError) && !signal.aborted) throw error;
    }
  }
}

/** Records a request, and removes the oldest of too many entries. */
function remember(askedAt: Map<string, Millis>, id: string, now: Millis): void {
  askedAt.delete(id);
  askedAt.set(id, now);
  for (const old of askedAt.keys()) {
    if (askedAt.size <= 4 * LISTED_MAX) return;
    askedAt.delete(old);
  }
}
