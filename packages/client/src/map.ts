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
import type { ResultOrder } from './job-results.js';
import type { Appended, Appending } from './open-jobs.js';
import type { CallOptions } from './options.js';
import type { JobSubmission } from './submission.js';

/** The function that is called with each input: an export of an ES module, by its path or `file:` URL. */
export interface MapWork {
  readonly module: string;
  /** `default` unless given. */
  readonly export?: string | undefined;
}

export interface MapOptions extends Omit<JobSubmission, 'tasks' | 'stages'> {
  /** `stop`: throw of the first input that fails, and cancel the others. `collect`: yield results, of errors too [stop] */
  readonly onError?: 'stop' | 'collect' | undefined;
  /** Yield results by input, or as they come [index] */
  readonly order?: ResultOrder | undefined;
  /** Runs failed and cancelled inputs again where a map with this key has ended; otherwise their errors are the results [false] */
  readonly retryFailed?: boolean | undefined;
  /** Inputs that have been taken and whose results have not [1,000, of 8 MiB together at most] */
  readonly inFlight?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The part of a cluster that `map` needs. */
export interface MapCluster {
  /** Submits an open job, or finds the one of the key. */
  open(job: Omit<MapOptions, 'signal'>, options: CallOptions): Promise<MapJob>;
}

export interface MapJob {
  /** @returns what the job has then */
  append(tasks: Appending, options: CallOptions): Promise<Appended>;
  /** Yields results until the job has ended. */
  results(options: CallOptions & { readonly order: ResultOrder }): AsyncIterable<TaskResult>;
  /** Runs again what failed or was cancelled of a job that has ended. @throws InputError `nothing-failed` */
  retry(options: CallOptions): Promise<unknown>;
  describe(options: CallOptions): Promise<JobDetail>;
  cancel(): Promise<unknown>;
}

const IN_FLIGHT = 1_000;
const IN_FLIGHT_BYTES = 8 * 1024 * 1024;
/** Inputs of one message. */
const APPENDED_MAX = 1_000;
const APPENDED_BYTES = 1024 * 1024;
/** Clients that left come back in this time, or the job ends with what it has. */
const OPEN = '1h';
/** A map that is left waits no longer for a scheduler that does not answer. */
const LEAVE_MS: Millis = 2_000;
/** Few inputs beside many in flight wait this long for others: one message each would cost more than the inputs. */
const GATHER_MS: Millis = 50;
const FEW = 1 / 8;
/** After a refusal for which the cluster was asked as often as it said. */
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
    throw new InputError('bad-in-flight', `inFlight: expected a number from 1 on, got ${inFlight}`);
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
 * One open job that inputs are appended to. Three loops run at a time: one takes inputs, one appends what was taken since its
 * last message, one reads results. The reader's pace bounds them all.
 */
class MapRun<Input> {
  readonly #cluster: MapCluster;
  readonly #common: MapWork;
  readonly #options: MapOptions;
  readonly #iterator: Iterator<Input> | AsyncIterator<Input>;
  readonly #stop = new AbortController();
  /** Aborted some time after `#stop`: a job that was submitted by then is known, and can be cancelled. */
  readonly #giveUp = new AbortController();
  readonly #until: AbortSignal;
  #opening: Promise<MapJob> | undefined;
  #job: MapJob | undefined;
  /** Taken, and not appended yet. */
  readonly #gathered = new Deque<{ readonly input: Input; readonly bytes: number }>();
  /** Inputs that were taken, that the job has, whose results came, and whose results were read. */
  #taken = 0;
  #appended = 0;
  readonly #came = new Marks();
  #read = 0;
  /** Sizes of the inputs that this run has taken and whose results were not read, by index. */
  readonly #sizes = new Map<number, number>();
  #bytes = 0;
  #hasAll = false;
  /** Results that came and were not read, in the order in which they are. */
  readonly #results = new Deque<TaskResult>();
  /** How the map ends once so many results were read, and at once. */
  #lastly: { readonly error: unknown; readonly after: number } | undefined;
  #fatal: { readonly error: unknown } | undefined;
  #hasEnded = false;
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
      await opened.retry({ signal: this.#until }).catch(unlessNothingFailed);
    this.#job = opened;
    void this.#collect(opened).catch((error: unknown) => this.#fail(error));
    if (has.closed) return void (await this.#expectEnd());
    void this.#take().catch((error: unknown) => this.#endAfter(this.#taken, error));
    await this.#append(opened);
  }

  /** The job has these inputs since an earlier run. */
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

  /** The job takes no more inputs. */
  async #expectEnd(): Promise<void> {
    const next = await this.#iterator.next();
    if (next.done) this.#hasAll = true;
    else {
      const message = `the job with this key is closed with ${this.#taken} inputs, but more were given`;
      const hint = 'use another key for more inputs';
      this.#endAfter(this.#taken, new InputError('not-open', message, hint));
    }
    this.#wake();
  }

  async #take(): Promise<void> {
    const { inFlight = IN_FLIGHT } = this.#options;
    for (;;) {
      await this.#whenever(() => this.#taken - this.#read < inFlight && this.#bytes < IN_FLIGHT_BYTES);
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
      await this.#whenever(() => this.#gathered.length > 0 || this.#hasAll || this.#lastly !== undefined);
      // Inputs that are there are taken in the same turn.
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
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        return this.#endAfter(this.#appended, error);
      }
    }
  }

  /** Waits for more inputs while tasks have enough to do without those that are there. */
  async #gather(): Promise<void> {
    const out = this.#appended - this.#came.count;
    const isEnough = () => this.#gathered.length >= out * FEW || this.#hasAll || this.#lastly !== undefined;
    if (isEnough()) return;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, GATHER_MS);
    await this.#whenever(() => isEnough() || isLate).finally(() => clearTimeout(timer));
  }

  /** @throws InputError of the first input that no task can have, once those before it were appended */
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
        // Inputs without end are only slowed down by a cluster that has enough for now.
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
      taken: digest === undefined ? this.#came.upTo : 0,
    };
  }

  async #collect(job: MapJob): Promise<void> {
    const { order = 'index', inFlight = IN_FLIGHT } = this.#options;
    for await (const result of job.results({ order, signal: this.#until })) {
      // A task that was retried meanwhile comes again.
      if (!this.#came.add(result.index)) continue;
      this.#results.push(result);
      this.#wake();
      // An earlier run may have left more of them than fit into memory.
      await this.#whenever(() => this.#results.length < inFlight);
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
          throw await this.#whyNot(result);
        return result;
      }
      if (this.#fatal !== undefined) throw this.#fatal.error;
      if (this.#lastly !== undefined && this.#read >= this.#lastly.after) throw this.#lastly.error;
      if (this.#hasAll && this.#read === this.#taken) {
        this.#isDone = true;
        return undefined;
      }
      if (this.#hasEnded) throw await this.#whyNot(undefined);
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

  async #whyNot(result: TaskResult | undefined): Promise<GoshawkError> {
    const detail = await this.#job!.describe({ signal: this.#until });
    if (result?.state === 'failed' || detail.state === 'failed') return new JobFailed(detail);
    return new JobCancelled(detail);
  }

  /** Cancels what has not ended, unless a later map with the same key is to go on with it; lets the inputs go. */
  async leave(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    if (!this.#isDone && this.#options.key === undefined && this.#opening !== undefined) {
      const timer = setTimeout(() => this.#giveUp.abort(), LEAVE_MS);
      const cancelled = this.#opening.then((job) => job.cancel());
      // The request was sent even without a reply by then.
      await abortable(cancelled, this.#giveUp.signal).catch(() => {});
      clearTimeout(timer);
    }
    // An input that is waited for may never come: nobody waits for it here.
    if (!this.#hasAll) Promise.resolve(this.#iterator.return?.()).catch(() => {});
  }

  async #whenever(holds: () => boolean): Promise<void> {
    while (!holds()) {
      this.#until.throwIfAborted();
      await this.#changed.next;
    }
  }

  #wake(): void {
    const before = this.#changed;
    this.#changed = new Change();
    before.happened();
  }

  #fail(error: unknown): void {
    this.#fatal ??= { error };
    this.#wake();
  }

  #endAfter(after: number, error: unknown): void {
    if (this.#lastly === undefined || after < this.#lastly.after) this.#lastly = { error, after };
    this.#wake();
  }
}

function unlessNothingFailed(error: unknown): void {
  if (!(error instanceof InputError) || error.code !== 'nothing-failed') throw error;
}

function addTo(digest: Hash | undefined, input: unknown): void {
  digest?.update(`${JSON.stringify(input) ?? ''}\n`);
}

function textOf(digest: Hash | undefined): string {
  return digest?.copy().digest('hex') ?? '';
}

/** Numbers from 0 on, each there or not, at a byte each. */
class Marks {
  count = 0;
  /** All numbers before it are there. */
  upTo = 0;
  #bytes = new Uint8Array(1_024);

  /** @returns false where it is there */
  add(number: number): boolean {
    if (number >= this.#bytes.length) this.#bytes = grown(this.#bytes, number + 1);
    if (this.#bytes[number] === 1) return false;
    this.#bytes[number] = 1;
    this.count++;
    while (this.#bytes[this.upTo] === 1) this.upTo++;
    return true;
  }
}

/** Something that is waited for, once. */
class Change {
  happened = (): void => {};
  readonly next = new Promise<void>((resolve) => {
    this.happened = resolve;
  });
}

function otherInputs(why: string): InputError {
  const message = `the job with this key has different inputs: ${why}`;
  return new InputError(
    'key-conflict',
    message,
    'give the same inputs in the same order, or use another key',
  );
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
