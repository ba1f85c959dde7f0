import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, ClusterCounters, ClusterView } from '@goshawk/client';
import {
  type ClusterShares,
  GoshawkError,
  InputError,
  type JobSummary,
  type Millis,
  sumOf,
  UnreachableError,
} from '@goshawk/core';
import { AttentionLog, type Finding } from './attention.js';
import { Findings } from './findings.js';
import { Day, History, POINT_MS } from './history.js';
import type { Link } from './link.js';
import {
  FAILURES_SHOWN_MS,
  type LastSeen,
  NAMES_SHOWN,
  type Overview,
  overviewOf,
  type PollResult,
} from './overview.js';
import { failuresAt, pastFinding } from './past-findings.js';
import { Sampler } from './sampler.js';
import { TaskStream } from './task-stream.js';
import { WaitingLimits } from './waiting-limits.js';
import { WorkerTable } from './worker-table.js';

/** Poll interval (ms) while a page is open. It is longer if a reply is large because of many workers. */
const POLL_INTERVAL_MS = 2_000;
const POLL_MS_PER_WORKER = 0.5;
/** How long a poll waits for central after one that central did not answer (ms). */
const SILENT_CENTRAL_MS = 2_000;
/** Maximum wait for samples in `once` (ms). */
const SAMPLED_MAX_MS = 1_000;

/** Changes of the cluster since a version. */
interface ClusterUpdate {
  readonly version: number;
  readonly overview: Overview;
  readonly points: History['points'];
  readonly workers: ReturnType<WorkerTable['since']>;
}

/**
 * Polls the cluster every ten seconds for the history, and more often while a page is open. A poll is one
 * request to central, and one more for each point, five to each scheduler, two for each of a dozen jobs, and one for each listed failed job
 * of unknown cause. The number of requests does not depend on tasks and pages.
 */
export class ClusterWatch {
  readonly history = new History();
  readonly day = new Day();
  readonly stream = new TaskStream();
  readonly limits = new WaitingLimits();
  readonly #findings = new Findings();
  readonly #attention = new AttentionLog();
  readonly #sampler = new Sampler(this.stream, this.limits, this.#findings);
  #sampling: Promise<void> | undefined;
  readonly #link: Link;
  readonly #where: string;
  readonly #samples: boolean;
  readonly #table = new WorkerTable();
  readonly #stop = new AbortController();
  readonly #versionOfPoint = new WeakMap<History['points'][number], number>();
  readonly #polled = new EventEmitter().setMaxListeners(0);
  #watchers = 0;
  #wake = (): void => {};
  #overview: Overview;
  #lastView: { readonly view: ClusterView; readonly at: Millis } | undefined;
  /** The request to central that is in progress. */
  #describing: Promise<ClusterView> | undefined;
  /** Why central has not answered the last poll; undefined: it has. */
  #silence: UnreachableError | undefined;
  /** Undefined before the first poll. */
  #polledAt: Millis | undefined;
  #pointAt: Millis = Number.NEGATIVE_INFINITY;
  /** Number of the last event that was read. */
  #lastEvent = 0;
  #running: Promise<void> | undefined;

  /**
   * @param where location of the cluster, for display
   * @param options.samples whether `stream` and `limits` are maintained
   */
  constructor(link: Link, where: string, { samples = false }: { readonly samples?: boolean } = {}) {
    this.#samples = samples;
    this.#link = link;
    this.#where = where;
    this.#overview = overviewOf({ where, problem: undefined, seen: undefined, workers: this.#table });
  }

  get workers(): Pick<WorkerTable, 'eventsOf' | 'names' | 'rows'> {
    return this.#table;
  }

  /** Workers as of the last answer of central. */
  get lastWorkers(): ClusterView['workers'] | undefined {
    return this.#lastView?.view.workers;
  }

  get overview(): Overview {
    return this.#overview;
  }

  start(): void {
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    this.#polled.emit('polled');
    await this.#running;
    await this.#sampling;
  }

  /** Polls faster until the returned function is called. */
  pollFaster(): () => void {
    this.#watchers++;
    if (this.#watchers === 1) this.#wake();
    return () => {
      this.#watchers--;
    };
  }

  /**
   * Returns the changes since a version.
   *
   * @param seen the version that the reader has; 0: none
   */
  since(seen: number): ClusterUpdate {
    const { version } = this.#table;
    const workers = this.#table.since(seen);
    const from = workers.reset ? 0 : seen;
    const points = this.history.points.filter((point) => (this.#versionOfPoint.get(point) ?? 0) > from);
    return { version, overview: this.#overview, points, workers };
  }

  /** Resolves after the next poll. */
  next(): Promise<unknown> {
    return once(this.#polled, 'polled');
  }

  /** Polls twice. The first poll samples jobs, and the second one includes the problems of these jobs. */
  async once(): Promise<void> {
    await this.#poll();
    await Promise.race([this.#sampling, pause(SAMPLED_MAX_MS, undefined, { ref: false })]);
    await this.#poll();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const beganAt = performance.now();
      await this.#poll();
      this.#polledAt = performance.now();
      this.#polled.emit('polled');
      const workers = Object.values(this.#overview.workers).reduce((sum, count) => sum + count, 0);
      const every = this.#watchers > 0 ? Math.max(POLL_INTERVAL_MS, POLL_MS_PER_WORKER * workers) : POINT_MS;
      await this.#sleep(Math.max(POLL_INTERVAL_MS / 4, beganAt + every - performance.now()));
    }
  }

  /** Sleeps until the time has passed or a page opens. */
  async #sleep(ms: Millis): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    if (this.#stop.signal.aborted) return;
    await pause(ms, undefined, { signal: waking.signal }).catch(() => {});
  }

  async #poll(): Promise<void> {
    const where = this.#where;
    try {
      const cluster = await this.#link.cluster();
      const isPointDue = this.#isPointDue();
      const isSilent = this.#silence !== undefined;
      const [seen, shares] = await Promise.all([
        pollCluster(cluster, this.#describe(cluster), isSilent),
        isPointDue && !isSilent ? cluster.shares().catch(() => undefined) : undefined,
        this.#samples && this.day.isDue && !isSilent ? this.#readDay(cluster) : undefined,
        isPointDue && !isSilent ? this.#readEvents(cluster) : undefined,
      ]);
      // While central is unavailable, workers are unknown and not lost.
      const now = performance.now();
      if (seen.view !== undefined) {
        this.#table.update(seen.view.workers, now, Date.now(), seen.view.lostWorkers);
        this.#lastView = { view: seen.view, at: now };
        if (this.#samples) this.stream.record(seen.view, seen.waiting?.central, Date.now());
      }
      if (this.#samples) this.#sample(cluster, seen.failed?.jobs);
      const { problem } = seen;
      const found = this.#findings.list(Date.now());
      const { lastSeen } = this;
      const missingOf = (job: string) => this.#findings.missingOf(job, Date.now());
      const lackOf = (job: string) => this.#findings.lackOf(job, Date.now());
      const causeOf = (job: JobSummary) => this.#findings.causeOf(job);
      const remembered = { log: this.#attention, now: Date.now() };
      const workers = this.#table;
      const failedAt = (worker: string) => this.#failedAt(worker);
      const known = { where, problem, seen, lastSeen, workers, found, missingOf, lackOf, causeOf, failedAt };
      this.#overview = overviewOf({ ...known, ...remembered });
      if (isPointDue) this.#addPoint(seen.counters, shares);
    } catch (error) {
      const problem = error instanceof GoshawkError ? error : new GoshawkError('internal', String(error));
      const lastSeen = this.lastSeen;
      const remembered = { log: this.#attention, now: Date.now() };
      this.#overview = overviewOf({
        where,
        problem,
        seen: undefined,
        lastSeen,
        workers: this.#table,
        ...remembered,
      });
    }
  }

  /**
   * Describes the cluster. After a poll that central did not answer, polls wait only briefly for it, because the other
   * answers would be old when they are shown; a late answer counts for the next poll.
   */
  async #describe(cluster: Cluster): Promise<ClusterView> {
    this.#describing ??= cluster.describe().finally(() => {
      this.#describing = undefined;
    });
    const asked = this.#describing;
    // It may fail after this poll has given up.
    asked.catch(() => {});
    const silence = this.#silence;
    try {
      const view = await (silence === undefined
        ? asked
        : Promise.race([
            asked,
            pause(SILENT_CENTRAL_MS, undefined, { ref: false }).then(() => Promise.reject(silence)),
          ]));
      this.#silence = undefined;
      return view;
    } catch (error) {
      if (error instanceof UnreachableError) this.#silence = error;
      throw error;
    }
  }

  /** Reads what central has recorded, also while this process did not run. */
  async #readDay(cluster: Cluster): Promise<void> {
    try {
      await this.day.refresh(cluster, Date.now(), this.#stop.signal);
    } catch {
      // The overview reports that central does not answer.
      return;
    }
    const version = this.#table.version + 1;
    for (const point of this.history.fill(this.day.points(), Date.now()))
      this.#versionOfPoint.set(point, version);
  }

  /** Reads events since the last ones, from which attention learns what happened between polls, or before the first one. */
  async #readEvents(cluster: Cluster): Promise<void> {
    const after = this.#lastEvent;
    const sinceMs = Date.now() - FAILURES_SHOWN_MS;
    const page = await cluster.events({ after, sinceMs, signal: this.#stop.signal }).catch(() => undefined);
    if (page === undefined) return;
    this.#lastEvent = page.next;
    for (const event of page.events) {
      const past = pastFinding(event);
      const { finding } = past ?? {};
      const more = event.kind === 'worker-quarantined' ? () => this.#failedAt(event.worker ?? '') : undefined;
      for (const key of past?.keys ?? [])
        this.#attention.recall(key, finding && { ...finding, more }, event.at);
    }
  }

  #failedAt(worker: string): Pick<Finding, 'hint' | 'actions'> {
    return failuresAt(this.stream.failedAt(worker));
  }

  /**
   * Samples jobs in parallel with polls, because a scheduler that does not answer must not delay a page. Only
   * one sample is taken at a time.
   */
  #sample(cluster: Cluster, failed: readonly JobSummary[] | undefined): void {
    this.#sampling ??= this.#sampler
      .sample(cluster, Date.now(), this.#stop.signal, failed)
      // The overview reports failed polls.
      .catch(() => {})
      .finally(() => {
        this.#sampling = undefined;
      });
  }

  /** Time since the end of the last poll (ms); 0 before the first. */
  get silentMs(): Millis {
    return this.#polledAt === undefined ? 0 : performance.now() - this.#polledAt;
  }

  /** The last reply of central, with its age; undefined: none. */
  get lastSeen(): LastSeen | undefined {
    const last = this.#lastView;
    return last && { view: last.view, agoMs: performance.now() - last.at };
  }

  /** Uses a monotonic clock for the interval between points, because the wall clock may be set back. */
  #isPointDue(): boolean {
    return performance.now() - this.#pointAt >= POINT_MS - POLL_INTERVAL_MS / 2;
  }

  #addPoint(counters: ClusterCounters | undefined, shares: ClusterShares | undefined): void {
    if (counters === undefined) return;
    this.#pointAt = performance.now();
    const at = Date.now();
    const { busy, slots, waiting } = this.#overview;
    const tasks = waiting && sumOf(waiting, (group) => group.tasks);
    const point = this.history.add(at, counters.schedulers, { waiting: tasks, busy, slots }, shares);
    if (point === undefined) return;
    this.#versionOfPoint.set(point, this.#table.version);
  }
}

/** @throws the error unless the key of this client does not permit the request */
function unlessForbidden(error: unknown): undefined {
  if (error instanceof InputError && error.code === 'not-allowed') return;
  throw error;
}

/**
 * Polls once. A missing reply is recorded; other errors are thrown.
 *
 * @param isSilent whether central did not answer the last poll; counters are read only with its list of members
 */
async function pollCluster(
  cluster: Cluster,
  described: Promise<ClusterView>,
  isSilent: boolean,
): Promise<PollResult> {
  let problem: GoshawkError | undefined;
  const part = <T>(asked: Promise<T>): Promise<T | undefined> =>
    asked.catch((error: unknown) => {
      if (!(error instanceof UnreachableError)) throw error;
      problem ??= error;
      return undefined;
    });
  const [view, waiting, counters, failed] = await Promise.all([
    part(described),
    part(cluster.waiting()),
    // A key that may read only own jobs gets no counters, and so no rates.
    isSilent
      ? undefined
      : part(cluster.counters({ of: ({ kind }) => kind === 'scheduler' }).catch(unlessForbidden)),
    part(cluster.jobs({ states: ['failed'], since: Date.now() - FAILURES_SHOWN_MS, limit: NAMES_SHOWN })),
  ]);
  return { view, waiting, counters, failed, problem };
}
