import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  Deque,
  GoshawkError,
  grown,
  InputError,
  isFinal,
  type JobDetail,
  type Millis,
  type TaskResult,
} from '@goshawk/core';
import { abortable, pause } from './abort.js';
import { JobCancelled, JobFailed } from './errors.js';
import { checkOrder, type ResultOrder } from './job-results.js';
import type { Appended, Appending } from './open-jobs.js';
import type { CallOptions } from './options.js';
import type { JobSubmission } from './submission.js';

/** The function to call with each input: an export of an ES module, by its path or `file:` URL. */
export interface MapWork {
  readonly module: string;
  /** Default: `default`. */
  readonly export?: string | undefined;
}

export interface MapOptions extends Omit<JobSubmission, 'tasks' | 'stages'> {
  /**
   * `stop`: throw the error of the first input that fails, and cancel the others. `collect`: yield results, including
   * errors [stop]
   */
  readonly onError?: 'stop' | 'collect' | undefined;
  /** Yield results by input, or as they arrive [index] */
  readonly order?: ResultOrder | undefined;
  /**
   * Retries failed and cancelled inputs if a map with this key has ended; otherwise their errors are the results
   * [false]
   */
  readonly retryFailed?: boolean | undefined;
  /** Maximum number of inputs whose results have not been read [1,000, of 8 MiB together at most] */
  readonly inFlight?: number | undefined;
  /**
   * Makes the map resumable: leaving the loop or a crash cancels nothing. A map with the same key and the same inputs
   * in the same order yields all results and runs only the rest. The job closes after an hour without a client
   * (`open`).
   */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The part of a cluster that `map` needs. */
export interface MapCluster {
  /** Submits an open job, or finds the one of the key. */
  open(job: Omit<MapOptions, 'signal'>, options: CallOptions): Promise<MapJob>;
}

export interface MapJob {
  /** @returns the resulting state of the job */
  append(tasks: Appending, options: CallOptions): Promise<Appended>;
  /** Yields results until the job has ended. */
  results(options: CallOptions & { readonly order: ResultOrder }): AsyncIterable<TaskResult>;
  /** Retries failed and cancelled tasks of an ended job. @throws InputError `nothing-failed` */
  retry(options: CallOptions): Promise<unknown>;
  describe(options: CallOptions): Promise<JobDetail>;
  cancel(): Promise<unknown>;
}

const IN_FLIGHT = 1_000;
const IN_FLIGHT_BYTES = 8 * 1024 * 1024;
/** Maximum number of inputs per message. */
const APPENDED_MAX = 1_000;
const APPENDED_BYTES = 1024 * 1024;
/** A client that left must resume within this time, or the job closes. */
const OPEN = '1h';
/** Timeout of the cancellation when a map is left and the scheduler does not answer. */
const CANCEL_TIMEOUT_MS: Millis = 2_000;
/**
 * Small batches wait this long for more inputs while many are in flight: one message each would cost more than the
 * inputs.
 */
const GATHER_MS: Millis = 50;
const GATHER_SHARE = 1 / 8;
/** Delay after an overload refusal whose retries are exhausted. */
const OVERLOADED_PAUSE_MS: Millis = 1_000;

/** See `Cluster.map`. */
export async function* mapInputs<Input>(
  cluster: MapCluster,
  work: MapWork,
  inputs: Iterable<Input> | AsyncIterable<Input>,
  options: MapOptions,
): AsyncGenerator<unknown, void, undefined> {
  const { inFlight, signal } = options;
  if (inFlight !== undefined && !(inFlight >= 1))
    throw new InputError('bad-in-flight', `inFlight: expected a number of at least 1, got ${inFlight}`);
  const { onError = 'stop', order } = options;
  if (onError !== 'stop' && onError !== 'collect')
    throw new InputError('bad-on-error', `onError: ${JSON.stringify(onError)} is not one of stop, collect`);
  checkOrder(order);
  if (Object(inputs)[Symbol.iterator] === undefined && Object(inputs)[Symbol.asyncIterator] === undefined)
    throw new InputError('bad-inputs', 'map: the inputs are not iterable', 'pass a list or a generator');
  const run = new MapRun<Input>(cluster, work, inputs, options);
  try {
    run.start();
    for (;;) {
      const next = await abortable(run.next(), signal);
      if (next === undefined) return;
      yield options.onError === 'collect' ? next : returned(next);
    }
  } finally {
    await run.leave();
  }
}

function returned({ value }: TaskResult): unknown {
  return value ?? undefined;
}

/**
 * One open job that inputs are appended to. Three concurrent loops read inputs, append them in batches, and read
 * results. The reader's pace limits them all (backpressure).
 */
class MapRun<Input> {
  readonly #cluster: MapCluster;
  readonly #common: MapWork;
  readonly #options: MapOptions;
  readonly #iterator: Iterator<Input> | AsyncIterator<Input>;
  readonly #stop = new AbortController();
  /** Aborted some time after `#stop`, so that a job that was submitted by then is known and can be cancelled. */
  readonly #giveUp = new AbortController();
  readonly #until: AbortSignal;
  #opening: Promise<MapJob> | undefined;
  #job: MapJob | undefined;
  /** Inputs read but not appended yet. */
  readonly #gathered = new Deque<{ readonly input: Input; readonly bytes: number }>();
  /** Number of inputs read, inputs appended, results received, and results read. */
  #taken = 0;
  #appended = 0;
  readonly #received = new NumberSet();
  #read = 0;
  /** Sizes of this run's inputs whose results were not read, by index. */
  readonly #sizes = new Map<number, number>();
  #bytes = 0;
  #hasAll = false;
  /** Received results that were not read, in order. */
  readonly #results = new Deque<TaskResult>();
  /** The error with which the map ends, and the number of results before it. */
  #ending: { readonly error: unknown; readonly after: number } | undefined;
  #fatal: { readonly error: unknown } | undefined;
  #hasEnded = false;
  /** Whether the job accepts no more inputs. An open one would remain for an hour. */
  #isClosed = false;
  #isDone = false;
  /** Digest of the appended inputs, needed if the key can be used again. */
  #digest: Hash | undefined;
  #changed = new Change();

  constructor(
    cluster: MapCluster,
    { module, export: name }: MapWork,
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options: MapOptions,
  ) {
    this.#cluster = cluster;
    this.#common = { module, ...(name === undefined ? {} : { export: name }) };
    this.#options = options;
    this.#iterator =
      Symbol.asyncIterator in inputs ? inputs[Symbol.asyncIterator]() : inputs[Symbol.iterator]();
    const { signal } = options;
    this.#until = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
    this.#digest = options.key === undefined ? undefined : createHash('sha256');
  }

  start(): void {
    this.#begin().catch((error: unknown) => this.#fail(error));
  }

  async #begin(): Promise<void> {
    const { inFlight: _, signal: __, onError: ___, order: ____, retryFailed, ...job } = this.#options;
    this.#opening = this.#cluster.open({ open: OPEN, ...job }, { signal: this.#giveUp.signal });
    const opened = await this.#opening;
    const has = await opened.append(this.#appending([], this.#digest, false), { signal: this.#until });
    if (has.tasks > 0) await this.#skip(has);
    if (retryFailed && isFinal(has.state))
      await opened.retry({ signal: this.#until }).catch(ignoreNothingFailed);
    this.#job = opened;
    void this.#collect(opened).catch((error: unknown) => this.#fail(error));
    this.#isClosed = has.closed;
    if (has.closed) return void (await this.#expectEnd());
    void this.#take().catch((error: unknown) => this.#endAfter(this.#taken, error));
    await this.#append(opened);
  }

  /** Skips the inputs that the job already has from an earlier run. */
  async #skip({ tasks, digest }: Appended): Promise<void> {
    for (; this.#taken < tasks; this.#taken++) {
      const next = await this.#iterator.next();
      if (next.done) throw otherInputs(`it had ${tasks}, now there are ${this.#taken}`);
      addTo(this.#digest, next.value);
    }
    if (this.#digest !== undefined && textOf(this.#digest) !== digest)
      throw otherInputs(`its first ${tasks} differ`);
    this.#appended = tasks;
  }

  /** Fails unless the inputs have ended, too, because the job is closed. */
  async #expectEnd(): Promise<void> {
    const next = await this.#iterator.next();
    if (next.done) this.#hasAll = true;
    else {
      const message = `the job with this key is closed after ${this.#taken} inputs, so it accepts no more`;
      const hint = 'use another key';
      this.#endAfter(this.#taken, new InputError('not-open', message, hint));
    }
    this.#wake();
  }

  async #take(): Promise<void> {
    const { inFlight = IN_FLIGHT } = this.#options;
    for (;;) {
      await this.#waitUntil(() => this.#taken - this.#read < inFlight && this.#bytes < IN_FLIGHT_BYTES);
      const next = await this.#iterator.next();
      if (next.done) break;
      const bytes = sizeOf(next.value, APPENDED_BYTES);
      this.#gathered.push({ input: next.value, bytes });
      this.#sizes.set(this.#taken, bytes);
      this.#bytes += bytes;
      if (this.#taken++ === this.#appended) this.#wake();
    }
    this.#hasAll = true;
    this.#wake();
  }

  async #append(job: MapJob): Promise<void> {
    for (let isClosed = false; !isClosed; ) {
      await this.#waitUntil(() => this.#gathered.length > 0 || this.#hasAll || this.#ending !== undefined);
      // Inputs that are immediately available are read in the same turn.
      await setImmediate();
      await this.#gather();
      const batch: Input[] = [];
      for (
        let bytes = 0;
        this.#gathered.length > 0 && batch.length < APPENDED_MAX && bytes < APPENDED_BYTES;
      ) {
        const { input, bytes: more } = this.#gathered.shift()!;
        batch.push(input);
        bytes += more;
      }
      isClosed = this.#gathered.length === 0 && this.#hasAll;
      if (batch.length === 0 && !isClosed) return;
      try {
        await this.#appendAll(job, batch, isClosed);
        this.#isClosed = isClosed;
        this.#wake();
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        return this.#endAfter(this.#appended, error);
      }
    }
  }

  /** Waits for more inputs while enough tasks are queued. */
  async #gather(): Promise<void> {
    const out = this.#appended - this.#received.count;
    const isEnough = () =>
      this.#gathered.length >= out * GATHER_SHARE || this.#hasAll || this.#ending !== undefined;
    if (isEnough()) return;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, GATHER_MS);
    await this.#waitUntil(() => isEnough() || isLate).finally(() => clearTimeout(timer));
  }

  /** @throws InputError of the first invalid input, after the inputs before it were appended */
  async #appendAll(job: MapJob, batch: readonly Input[], close: boolean): Promise<void> {
    try {
      await this.#send(job, batch, close);
    } catch (error) {
      if (!(error instanceof InputError) || batch.length < 2) throw error;
      for (const input of batch) await this.#send(job, [input], false);
    }
  }

  async #send(job: MapJob, batch: readonly Input[], close: boolean): Promise<void> {
    const digest = this.#digest?.copy();
    for (const input of batch) addTo(digest, input);
    for (;;) {
      try {
        await job.append(this.#appending(batch, digest, close), { signal: this.#until });
        this.#appended += batch.length;
        this.#digest = digest;
        return;
      } catch (error) {
        // An overloaded cluster only slows down the inputs.
        if (!(error instanceof GoshawkError) || error.code !== 'overloaded') throw error;
        await pause(OVERLOADED_PAUSE_MS, this.#until);
      }
    }
  }

  #appending(batch: readonly Input[], digest: Hash | undefined, close: boolean): Appending {
    return {
      first: this.#appended,
      common: this.#common,
      each: batch.map((input) => ({ input })),
      digest: textOf(digest),
      close,
      // A client that resumes with the key rereads all inputs.
      taken: digest === undefined ? this.#received.upTo : 0,
    };
  }

  async #collect(job: MapJob): Promise<void> {
    const { order = 'index', inFlight = IN_FLIGHT } = this.#options;
    for await (const result of job.results({ order, signal: this.#until })) {
      // A retried task appears again.
      if (!this.#received.add(result.index)) continue;
      this.#results.push(result);
      this.#wake();
      // An earlier run may have left more of them than fit into memory.
      await this.#waitUntil(() => this.#results.length < inFlight);
    }
    this.#hasEnded = true;
    this.#wake();
  }

  /** @returns the next result; undefined when there are no more */
  async next(): Promise<TaskResult | undefined> {
    for (;;) {
      const result = this.#fatal === undefined ? this.#takeResult() : undefined;
      if (result !== undefined) {
        if (this.#options.onError !== 'collect' && result.state !== 'completed')
          throw await this.#failureOf(result);
        return result;
      }
      if (this.#fatal !== undefined) throw this.#fatal.error;
      if (this.#ending !== undefined && this.#read >= this.#ending.after) throw this.#ending.error;
      if (this.#isClosed && this.#hasAll && this.#read === this.#taken) {
        this.#isDone = true;
        return undefined;
      }
      if (this.#hasEnded) throw await this.#failureOf(undefined);
      await this.#changed.next;
    }
  }

  #takeResult(): TaskResult | undefined {
    const result = this.#results.shift();
    if (result === undefined) return undefined;
    this.#read++;
    this.#bytes -= this.#sizes.get(result.index) ?? 0;
    this.#sizes.delete(result.index);
    this.#wake();
    return result;
  }

  async #failureOf(result: TaskResult | undefined): Promise<GoshawkError> {
    const detail = await this.#job!.describe({ signal: this.#until });
    if (result?.state === 'failed' || detail.state === 'failed') return new JobFailed(detail);
    return new JobCancelled(detail);
  }

  /** Cancels unfinished tasks, unless a key lets a later map resume; closes the iterator of inputs. */
  async leave(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    if (!this.#isDone && this.#options.key === undefined && this.#opening !== undefined) {
      const timer = setTimeout(() => this.#giveUp.abort(), CANCEL_TIMEOUT_MS);
      const cancelled = this.#opening.then((job) => job.cancel());
      // The request was sent even without a reply by then.
      await abortable(cancelled, this.#giveUp.signal).catch(() => {});
      clearTimeout(timer);
    }
    // A pending input may never arrive, so it is not awaited.
    if (!this.#hasAll) Promise.resolve(this.#iterator.return?.()).catch(() => {});
  }

  async #waitUntil(holds: () => boolean): Promise<void> {
    while (!holds()) {
      this.#until.throwIfAborted();
      await this.#changed.next;
    }
  }

  #wake(): void {
    const before = this.#changed;
    this.#changed = new Change();
    before.notify();
  }

  #fail(error: unknown): void {
    this.#fatal ??= { error };
    this.#wake();
  }

  #endAfter(after: number, error: unknown): void {
    if (this.#ending === undefined || after < this.#ending.after) this.#ending = { error, after };
    this.#wake();
  }
}

function ignoreNothingFailed(error: unknown): void {
  if (!(error instanceof InputError) || error.code !== 'nothing-failed') throw error;
}

function addTo(digest: Hash | undefined, input: unknown): void {
  digest?.update(`${JSON.stringify(input) ?? ''}\n`);
}

function textOf(digest: Hash | undefined): string {
  return digest?.copy().digest('hex') ?? '';
}

/** A set of integers from 0 on that takes one byte for each. */
class NumberSet {
  count = 0;
  /** All smaller numbers are in the set. */
  upTo = 0;
  #bytes = new Uint8Array(1_024);

  /** @returns false if it was already there */
  add(number: number): boolean {
    if (number >= this.#bytes.length) this.#bytes = grown(this.#bytes, number + 1);
    if (this.#bytes[number] === 1) return false;
    this.#bytes[number] = 1;
    this.count++;
    while (this.#bytes[this.upTo] === 1) this.upTo++;
    return true;
  }
}

/** A one-shot notification. */
class Change {
  notify = (): void => {};
  readonly next = new Promise<void>((resolve) => {
    this.notify = resolve;
  });
}

function otherInputs(why: string): InputError {
  const message = `the job with this key has other inputs: ${why}`;
  return new InputError(
    'key-conflict',
    message,
    'pass the same inputs in the same order, or use another key',
  );
}

/** Estimates the size of a value in a message; stops above `max`. */
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
