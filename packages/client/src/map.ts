import { GoshawkError, InputError, isFinal, type JobDetail, type JobEvent, type Millis } from '@goshawk/core';
import { abortable, pause } from './abort.js';
import { JobCancelled, JobFailed } from './errors.js';
import type { CallOptions } from './options.js';
import type { JobSubmission } from './submission.js';

/** The function that is called with each input: an export of an ES module, by its path or `file:` URL. */
export interface MapWork {
  readonly module: string;
  /** `default` unless given. */
  readonly export?: string | undefined;
}

export interface MapOptions extends Omit<JobSubmission, 'tasks' | 'stages' | 'key'> {
  /** Inputs that have been taken and whose results have not. Default 64, or 256 of inputs that take less than 10 ms. */
  readonly inFlight?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What it needs of a cluster. */
export interface MapCluster {
  submit(job: JobSubmission, options: CallOptions): Promise<MapJob>;
}

export interface MapJob {
  events(options: CallOptions): AsyncIterable<JobEvent>;
  /** What its tasks have returned so far, by task. */
  values(tasks: number, options: CallOptions): Promise<unknown[]>;
  cancel(): Promise<unknown>;
}

const IN_FLIGHT = 64;
const IN_FLIGHT_OF_SHORT = 256;
/** Whoever leaves waits no longer for owners of jobs that are silent, nor for inputs on their way to become jobs. */
const LEAVE_MS: Millis = 2_000;
/** After a refusal for which the cluster was asked as often as it said. */
const OVERLOADED_PAUSE_MS: Millis = 1_000;
/** Inputs share a job where together they run no longer than this, and are no larger. */
const JOB_MS: Millis = 20;
const JOB_BYTES = 64 * 1024;
/** Weight of the latest job in the run time of an input as it is believed. */
const NEWEST_WEIGHT = 0.25;

/** An input, and the promise of its value. */
interface Call<Input> {
  readonly input: Input;
  readonly value: Promise<Came<Input>>;
  give(value: unknown): void;
  fail(error: unknown): void;
}

type Came<Input> =
  | { readonly kind: 'input'; readonly next: IteratorResult<Input, unknown> }
  | { readonly kind: 'value'; readonly value: unknown };

/** See `Cluster.map`. */
export async function* mapInputs<Input>(
  cluster: MapCluster,
  work: MapWork,
  inputs: Iterable<Input> | AsyncIterable<Input>,
  { inFlight, signal, ...job }: MapOptions,
): AsyncGenerator<unknown, void, undefined> {
  if (inFlight !== undefined && !(inFlight >= 1))
    throw new InputError('bad-in-flight', `inFlight: expected a number from 1 on, got ${inFlight}`);
  const iterator =
    Symbol.asyncIterator in inputs ? inputs[Symbol.asyncIterator]() : inputs[Symbol.iterator]();
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const jobs = new MapJobs<Input>(cluster, work, job, until, inFlight);
  const running: Promise<Came<Input>>[] = [];
  let pulled: Promise<Came<Input>> | undefined;
  let hasMore = true;
  try {
    for (;;) {
      if (hasMore && pulled === undefined && running.length < jobs.inFlight)
        pulled = (async () => ({ kind: 'input', next: await iterator.next() }))();
      const awaited = [pulled, running[0]].filter((each) => each !== undefined);
      if (awaited.length === 0) return;
      const came = await abortable(Promise.race(awaited), signal);
      if (came.kind === 'value') {
        running.shift();
        yield came.value;
        continue;
      }
      pulled = undefined;
      hasMore = !came.next.done;
      if (came.next.done) jobs.submit();
      else running.push(jobs.gather(came.next.value));
    }
  } finally {
    stop.abort();
    await jobs.cancel();
    pulled?.catch(() => {});
    // An input that is waited for may never come: nobody waits for it here.
    if (hasMore) Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

/** Makes jobs of inputs: one of each, or of several where the last ones ran for a few milliseconds. */
class MapJobs<Input> {
  readonly #cluster: MapCluster;
  readonly #task: { readonly module: string; readonly export?: string };
  readonly #job: Omit<JobSubmission, 'tasks' | 'stages' | 'key'>;
  readonly #until: AbortSignal;
  readonly #inFlight: number | undefined;
  readonly #isOneEach: boolean;
  readonly #submitting = new Set<Promise<MapJob>>();
  readonly #unfinished = new Set<MapJob>();
  /** Aborted some time after `until`: what is submitted by then is known, and can be cancelled. */
  readonly #giveUp = new AbortController();
  /** Gathered, and in no job yet. */
  #calls: Call<Input>[] = [];
  #bytes = 0;
  /** Inputs that were submitted and have no value yet. */
  #underWay = 0;
  #endOfTurn: NodeJS.Immediate | undefined;
  /** The longest run of a job, in the mean of the latest ones. */
  #runMs: Millis = JOB_MS;

  constructor(
    cluster: MapCluster,
    { module, export: name }: MapWork,
    job: Omit<JobSubmission, 'tasks' | 'stages' | 'key'>,
    until: AbortSignal,
    inFlight: number | undefined,
  ) {
    this.#cluster = cluster;
    this.#task = { module, ...(name === undefined ? {} : { export: name }) };
    this.#job = job;
    this.#until = until;
    this.#inFlight = inFlight;
    // What is said of a job is meant of each input.
    this.#isOneEach = [job.timeLimit, job.maxRunning, job.deadline].some((each) => each !== undefined);
  }

  /** So many inputs may be without a result that was taken. */
  get inFlight(): number {
    return this.#inFlight ?? (this.#together > 1 ? IN_FLIGHT_OF_SHORT : IN_FLIGHT);
  }

  /** How many inputs would share a job, as long as they take. */
  get #together(): number {
    return this.#isOneEach ? 1 : Math.floor(JOB_MS / this.#runMs);
  }

  /** What comes in one turn goes together; more is waited for only while the cluster has enough to do. */
  gather(input: Input): Promise<Came<Input>> {
    const bytes = sizeOf(input, JOB_BYTES);
    if (this.#bytes + bytes > JOB_BYTES) this.submit();
    const call = callWith(input);
    this.#calls.push(call);
    this.#bytes += bytes;
    const isFull =
      this.#bytes >= JOB_BYTES || this.#calls.length >= Math.min(this.#together, this.inFlight / 4);
    if (isFull) this.submit();
    else this.#lookSoon();
    return call.value;
  }

  /** Submits what was gathered. */
  submit(): void {
    const calls = this.#calls;
    if (calls.length === 0) return;
    this.#calls = [];
    this.#bytes = 0;
    this.#underWay += calls.length;
    void this.#run(calls);
  }

  #lookSoon(): void {
    this.#endOfTurn ??= setImmediate(() => {
      this.#endOfTurn = undefined;
      if (this.#underWay < this.inFlight / 2) this.submit();
    });
  }

  #ended(inputs: number): void {
    this.#underWay -= inputs;
    this.#lookSoon();
  }

  /** Cancels what has not ended, and what is about to be submitted. */
  async cancel(): Promise<void> {
    const timer = setTimeout(() => this.#giveUp.abort(this.#until.reason), LEAVE_MS);
    const cancelled = Promise.allSettled([
      ...[...this.#unfinished].map((job) => job.cancel()),
      ...[...this.#submitting].map(async (submitted) => (await submitted).cancel()),
    ]);
    // What is not answered by then was asked for all the same.
    await abortable(cancelled, this.#giveUp.signal).catch(() => {});
    clearTimeout(timer);
  }

  async #run(calls: readonly Call<Input>[]): Promise<void> {
    const given = new Given(calls);
    try {
      const job = await this.#submit(calls);
      // Nothing was taken: all but one may be right.
      if (job === undefined) return void (await Promise.all(calls.map((call) => this.#run([call]))));
      const end = await this.#follow(job, given);
      this.#unfinished.delete(job);
      if (end.state === 'completed') this.#ran(end);
      const completed = completedFirst(end, calls.length);
      if (completed > given.count) {
        const values = await job.values(calls.length, { signal: this.#until });
        this.#ended(given.give(values, completed));
      }
      if (end.state === 'failed') throw new JobFailed(end);
      if (end.state === 'cancelled') throw new JobCancelled(end);
    } catch (error) {
      this.#ended(given.fail(error));
    }
  }

  /** @returns undefined where several are not taken as one job */
  async #submit(calls: readonly Call<Input>[]): Promise<MapJob | undefined> {
    const tasks = calls.map(({ input }) => ({ ...this.#task, input }));
    for (;;) {
      this.#until.throwIfAborted();
      const submission = { ...this.#job, tasks } as JobSubmission;
      const submitted = this.#cluster.submit(submission, { signal: this.#giveUp.signal });
      this.#submitting.add(submitted);
      try {
        const job = await submitted;
        this.#unfinished.add(job);
        return job;
      } catch (error) {
        if (calls.length > 1 && error instanceof InputError) return undefined;
        // Inputs without end are only slowed down by a cluster that has enough for now: it takes the next as soon as it can.
        if (!(error instanceof GoshawkError) || error.code !== 'overloaded') throw error;
        await pause(OVERLOADED_PAUSE_MS, this.#until);
      } finally {
        this.#submitting.delete(submitted);
      }
    }
  }

  /** Gives values that are there while a later one is not. */
  async #follow(job: MapJob, given: Given<Input>): Promise<JobDetail> {
    for await (const event of job.events({ signal: this.#until })) {
      if (event.kind === 'ended') return event.job;
      // Where all have ended, what comes next is that the end is on the disk.
      if (isFinal(event.job.state) || event.job.tasks.completed <= given.count) continue;
      const values = await job.values(event.job.tasks.total, { signal: this.#until });
      const missing = values.indexOf(undefined);
      this.#ended(given.give(values, missing === -1 ? values.length : missing));
    }
    throw new Error('the last event of a job is its end');
  }

  #ran({ runPercentilesMs }: JobDetail): void {
    this.#runMs += NEWEST_WEIGHT * ((runPercentilesMs?.max ?? JOB_MS) - this.#runMs);
  }
}

/** How many of a job's calls have been given their values, from the first on. */
class Given<Input> {
  count = 0;
  readonly #calls: readonly Call<Input>[];

  constructor(calls: readonly Call<Input>[]) {
    this.#calls = calls;
  }

  /** @returns how many were given theirs */
  give(values: readonly unknown[], upTo: number): number {
    const before = this.count;
    while (this.count < upTo) this.#calls[this.count]!.give(values[this.count++]);
    return this.count - before;
  }

  /** @returns how many had none */
  fail(error: unknown): number {
    const rest = this.#calls.slice(this.count);
    for (const call of rest) call.fail(error);
    return rest.length;
  }
}

function callWith<Input>(input: Input): Call<Input> {
  let give: Call<Input>['give'] = () => {};
  let fail: Call<Input>['fail'] = () => {};
  const value = new Promise<Came<Input>>((resolve, reject) => {
    give = (came) => resolve({ kind: 'value', value: came });
    fail = reject;
  });
  // Of what fails only the first in order is thrown.
  value.catch(() => {});
  return { input, value, give, fail };
}

/** So many of the job's tasks, from the first on, have completed. */
function completedFirst({ state, attemptList }: JobDetail, tasks: number): number {
  if (state === 'completed') return tasks;
  const completed = new Set(attemptList.flatMap((each) => (each.state === 'completed' ? each.task : [])));
  let count = 0;
  while (completed.has(count)) count++;
  return count;
}

/** About how many bytes it takes in a message; where it is more than `max`, something above that. */
function sizeOf(value: unknown, max: number): number {
  if (typeof value === 'string') return value.length + 1;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 8;
  for (const [key, each] of Object.entries(value)) {
    size += key.length + sizeOf(each, max - size);
    if (size > max) break;
  }
  return size;
}
