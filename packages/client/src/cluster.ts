import { resolve } from 'node:path';
import {
  type ClusterSettings,
  type ClusterShares,
  type DrainAnswer,
  type EventPage,
  type HappenedEvent,
  type HistoryPage,
  type HistoryPoint,
  type HistoryRoster,
  InputError,
  type JobSpec,
  LIMITS,
  type Millis,
  quoted,
  type TakeoverAnswer,
  type TaskResult,
} from '@goshawk/core';
import { type CancelJobsOptions, type CancelledJobs, cancelJobs } from './cancelling.js';
import { type ClusterView, clusterSettings, describeCluster } from './cluster-view.js';
import { type ClusterCounters, type CountersOptions, readClusterCounters } from './counters.js';
import { badAnswer } from './errors.js';
import { type ClusterWaiting, clusterWaiting } from './explanations.js';
import { JobHandle } from './job-handle.js';
import { type Jobs, type JobsOptions, listJobs } from './job-listing.js';
import { type MapCluster, type MapOptions, type MapWork, mapInputs } from './map.js';
import type { CallOptions, SubmitOptions } from './options.js';
import { type PlannedEnd, plannedEnd } from './planned-end.js';
import { askCentral, changeCentral, type Session } from './session.js';
import { type JobSubmission, submit } from './submission.js';
import { readUsage, type Usage, type UsageOptions } from './usage.js';

export interface EventsOptions extends CallOptions {
  /** `next` of an earlier answer: only later events. */
  readonly after?: number | undefined;
  /** Only events since this time. Wall clock, ms. */
  readonly sinceMs?: number | undefined;
}

export interface HistoryOptions extends CallOptions {
  /** Only points after this time. Wall clock, seconds. */
  readonly after?: number | undefined;
}

/** A connection to a cluster. It keeps the process alive until it is closed, for example by `await using`. */
export class Cluster implements AsyncDisposable {
  readonly #session: Session;

  /** Use `connect`. */
  constructor(session: Session) {
    this.#session = session;
  }

  /** Problems of the whole cluster that an operator must fix, one line each, as central last reported them. */
  get warnings(): readonly string[] {
    return this.#session.roster.warnings;
  }

  /**
   * Submits a job and resolves as soon as a scheduler has accepted it. Fails with the reason of an overloaded
   * cluster, such as the limit that was reached, once `requestTimeoutMs` has passed.
   *
   * @typeParam Value what its tasks return
   * @throws InputError `bad-job` if it is invalid, `job-too-large`, or `impossible-demand` if no worker can ever run it;
   * UnreachableError
   */
  async submit<Value = unknown>(job: JobSubmission, options: SubmitOptions = {}): Promise<JobHandle<Value>> {
    const { id, ...accepted } = await submit(this.#session, job, options);
    return new JobHandle<Value>(this.#session, id, accepted);
  }

  /**
   * Calls an exported function of a module with each input, as tasks of one open job, and yields the results. Reads
   * at most `inFlight` inputs ahead; an overloaded cluster slows it down. Leaving the loop cancels the job, unless it
   * has a `key`.
   *
   * @typeParam Value what the function returns; undefined if it returns nothing, or null
   * @throws JobFailed and JobCancelled of the first input whose task did not complete, unless `onError` is `collect`; InputError
   * `key-conflict` for a key with other inputs, `not-open` if its job is closed; the errors of `submit`
   */
  map<Input, Value = unknown>(
    work: MapWork,
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options: MapOptions & { readonly onError: 'collect' },
  ): AsyncGenerator<TaskResult<Value>, void, undefined>;
  map<Input, Value = unknown>(
    work: MapWork,
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options?: MapOptions,
  ): AsyncGenerator<Value, void, undefined>;
  map<Input>(
    work: MapWork,
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options: MapOptions = {},
  ): AsyncGenerator<unknown, void, undefined> {
    const open: MapCluster['open'] = async (job, callOptions) => {
      const handle = await this.submit(job, callOptions);
      return {
        append: (tasks, of) => handle.append(tasks, of),
        results: (of) => handle.eachResult(of),
        retry: (of) => handle.retry(of),
        describe: (of) => handle.describe(of),
        cancel: () => handle.cancel(),
      };
    };
    const { module, ...rest } = work ?? {};
    const other = Object.keys(rest).find((field) => field !== 'export');
    if (other !== undefined)
      throw new InputError(
        'bad-module',
        `map: the work has the unknown field ${quoted(other)}`,
        'pass { module, export }',
      );
    if (typeof module !== 'string')
      throw new InputError(
        'bad-module',
        'map: the work names no module',
        'pass { module: PATH, export: NAME }',
      );
    const path = module.startsWith('file:') ? module : resolve(module);
    return mapInputs({ open }, { ...rest, module: path }, inputs, options);
  }

  /** Default owner of submitted jobs; undefined if the system has no name for the user. */
  get user(): string | undefined {
    return this.#session.user;
  }

  /** Whether a known scheduler may own a job with this id. Without a request. */
  hasOwner(id: string): boolean {
    return this.#session.roster.ownerOf(id) !== undefined;
  }

  /**
   * Returns a handle of a job by its id, without a request: the first call of the handle detects a missing job.
   *
   * @throws InputError `bad-id` if it is not a text
   */
  job<Value = unknown>(id: string): JobHandle<Value> {
    if (typeof id !== 'string')
      throw new InputError('bad-id', `a value of type ${typeof id} is not the id of a job`, 'pass a text');
    return new JobHandle<Value>(this.#session, id);
  }

  /** Lists the jobs of all schedulers. */
  jobs(options: JobsOptions = {}): Promise<Jobs> {
    return listJobs(this.#session, options);
  }

  /** Cancels jobs by user, name and state. @throws InputError `usage` without any filter or `all` */
  cancelJobs(options: CancelJobsOptions): Promise<CancelledJobs> {
    return cancelJobs(this.#session, options);
  }

  /**
   * Returns actual and fair shares of jobs. Under policies without shares the schedulers provide the users, because
   * central does not know them.
   * @throws UnreachableError if central is unavailable
   */
  async shares(options: CallOptions = {}): Promise<ClusterShares> {
    const { value } = await askCentral(
      this.#session,
      { what: 'for shares of the cluster', build: (request) => ({ type: 'describeShares', request }) },
      options,
    );
    if (value.jobs.every(({ user }) => user !== '')) return value;
    const { jobs } = await this.jobs({
      ...options,
      states: ['waiting', 'running'],
      limit: LIMITS.jobsListedMax,
    });
    const users = new Map(jobs.map(({ id, user = '' }) => [id, user]));
    return {
      ...value,
      jobs: value.jobs.map((job) => ({ ...job, user: job.user || (users.get(job.id) ?? '') })),
    };
  }

  /**
   * Returns what happened to the cluster in the last seven days, oldest first: members lost and back, drains, quarantines,
   * takeovers, changes of settings. Follow it with `after`, the `next` of the last answer.
   * @throws UnreachableError if central is unavailable
   */
  async events({ after = 0, sinceMs, ...options }: EventsOptions = {}): Promise<EventPage> {
    let next = after;
    const events: HappenedEvent[] = [];
    for (;;) {
      const from = next;
      const { value, peer } = await askCentral(
        this.#session,
        {
          what: 'for events',
          build: (request) => ({ type: 'readEvents', request, after: from, since: sinceMs }),
        },
        options,
      );
      for (const event of value.events) events.push(event);
      if (value.atEnd) return { ...value, events };
      if (value.next <= next) throw badAnswer(peer, 'further events');
      next = value.next;
    }
  }

  /**
   * Returns the state of the cluster every two minutes of the last day, oldest first, with the lists of workers of these points.
   * @param options `after`: only later points, seconds since 1970
   * @throws UnreachableError if central is unavailable
   */
  async history({ after = 0, ...options }: HistoryOptions = {}): Promise<Omit<HistoryPage, 'atEnd'>> {
    const points: HistoryPoint[] = [];
    const rosters = new Map<number, HistoryRoster>();
    for (let from = after; ; from = points.at(-1)!.at) {
      const last = from;
      const { value, peer } = await askCentral(
        this.#session,
        {
          what: 'for the history of the cluster',
          build: (request) => ({ type: 'readHistory', request, after: last }),
        },
        options,
      );
      for (const point of value.points) points.push(point);
      for (const roster of value.rosters) rosters.set(roster.id, roster);
      if (value.atEnd) return { points, rosters: [...rosters.values()] };
      if ((points.at(-1)?.at ?? 0) <= from) throw badAnswer(peer, 'further points');
    }
  }

  /**
   * Returns when a job would end if it were submitted now, simulated by central beside all active jobs, which takes some seconds;
   * or why that is unknown.
   */
  plannedEnd(spec: JobSpec, options: CallOptions = {}): Promise<PlannedEnd> {
    return plannedEnd(this.#session, spec, options);
  }

  /** Sums the CPU, memory and GPU time of ended attempts by user, project, job name or day. */
  usage(options: UsageOptions = {}): Promise<Usage> {
    return readUsage(this.#session, options);
  }

  /** Returns the settings without the list of workers; undefined if central does not answer soon. */
  settings(options: CallOptions = {}): Promise<ClusterSettings | undefined> {
    return clusterSettings(this.#session, options);
  }

  /** Returns workers, schedulers and settings. @throws UnreachableError if central is unavailable */
  describe(options: CallOptions = {}): Promise<ClusterView> {
    return describeCluster(this.#session, options);
  }

  /**
   * Drains a worker, or resumes it if `on` is false. Queued tasks move to other workers, and running ones finish; the
   * reply does not wait for that.
   *
   * @param options `deadlineMs`: running tasks are stopped after this time and restart elsewhere, as attempts that do not
   *   count against them. Default: they may finish
   *
   * @throws InputError `unknown-worker`, `bad-deadline`; UnreachableError if central is unavailable
   */
  async drain(
    worker: string,
    on = true,
    options: CallOptions & { readonly deadlineMs?: Millis | undefined } = {},
  ): Promise<DrainAnswer> {
    const { deadlineMs } = options;
    if (deadlineMs !== undefined && !(deadlineMs >= 0))
      throw new InputError('bad-deadline', `deadlineMs: expected a number of at least 0, got ${deadlineMs}`);
    const answer = await changeCentral<'drainWorker'>(
      this.#session,
      {
        what: `to drain ${worker}`,
        build: (request) => ({ type: 'drainWorker', request, worker, on, deadlineMs }),
      },
      options,
    );
    return answer.value;
  }

  /**
   * Makes another scheduler take over the jobs of this one, whether it is running or not. Requires a shared journal.
   *
   * @throws InputError `unknown-scheduler`, `not-shared`; UnreachableError if central is unavailable
   */
  async takeOverFrom(scheduler: string, options: CallOptions = {}): Promise<TakeoverAnswer> {
    const answer = await changeCentral<'takeOverFrom'>(
      this.#session,
      {
        what: `to have another scheduler take over from ${scheduler}`,
        build: (request) => ({ type: 'takeOverFrom', request, scheduler }),
      },
      options,
    );
    return answer.value;
  }

  /** Returns waiting tasks of the cluster by reason, and central's capacity. */
  waiting(options: CallOptions = {}): Promise<ClusterWaiting> {
    return clusterWaiting(this.#session, options);
  }

  /** Returns the counters of all processes, or of the selected ones, since their start. */
  counters(options: CountersOptions = {}): Promise<ClusterCounters> {
    return readClusterCounters(this.#session, options);
  }

  /** Closes the connection; pending calls fail. Jobs continue. */
  async close(): Promise<void> {
    const closed = this.#session.connection.close();
    this.#session.alarms.close();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
