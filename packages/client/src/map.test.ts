import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { InputError, type TaskResult } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JobCancelled, JobFailed, refusal } from './errors.js';
import { detail } from './fake-cluster.fixture.js';
import type { ResultOrder } from './job-results.js';
import { type MapCluster, type MapJob, type MapOptions, mapInputs } from './map.js';
import type { Appended, Appending } from './open-jobs.js';

const WORK = { module: '/there/work.mjs', export: 'square' };

/** One open job, whose tasks the test ends. */
class OpenJob implements MapCluster, MapJob {
  /** Inputs that were appended, in messages. */
  readonly messages: number[][] = [];
  submitted: MapOptions[] = [];
  digest = '';
  closed = false;
  cancels = 0;
  taken = 0;
  /** Number of results delivered to each reader. */
  readonly yielded: number[] = [];
  retries = 0;
  /** Number of appends that are refused before the next one is accepted. */
  refusals = 0;
  code = 'overloaded';
  /** Whether it ignores requests to cancel. */
  silent = false;
  /** An input that is rejected. */
  wrong: unknown = undefined;
  /** Delays the reply to the submission. */
  gate: Promise<unknown> | undefined;
  readonly #results: TaskResult[] = [];
  readonly #news = new EventEmitter().setMaxListeners(0);
  #state: 'running' | 'cancelled' | 'failed' = 'running';

  get inputs(): number[] {
    return this.messages.flat();
  }

  async open(job: MapOptions): Promise<MapJob> {
    this.submitted.push(job);
    await this.gate;
    return this;
  }

  async append({ first, common, each, digest, close, taken }: Appending): Promise<Appended> {
    expect(common).toEqual(WORK);
    const inputs = (each as { input: number }[]).map(({ input }) => input);
    if (inputs.length > 0 && this.refusals-- > 0)
      throw refusal({
        type: 'refused',
        request: 1,
        code: this.code,
        message: 'no',
        hint: '',
        retryMs: undefined,
      });
    if (inputs.some((input) => input === this.wrong))
      throw new InputError('bad-job', `${this.wrong} is wrong`);
    if (inputs.length > 0) {
      expect(first).toBe(this.inputs.length);
      this.messages.push(inputs);
      this.digest = digest;
    }
    this.closed ||= close;
    this.taken = taken;
    this.#news.emit('news');
    return { tasks: this.inputs.length, digest: this.digest, closed: this.closed, state: this.#state };
  }

  async *results({ order }: { readonly order: ResultOrder }): AsyncGenerator<TaskResult> {
    const reader = this.yielded.push(0) - 1;
    for (let at = 0; ; at++) {
      const hasEnded = () => this.#state !== 'running' || (this.closed && at === this.inputs.length);
      const result = () =>
        order === 'index' ? this.#results.find(({ index }) => index === at) : this.#results[at];
      while (result() === undefined && !hasEnded()) await once(this.#news, 'news');
      if (result() === undefined) return;
      this.yielded[reader]!++;
      yield result()!;
    }
  }

  async retry(): Promise<void> {
    this.retries++;
    const hasFailed = ({ state }: TaskResult) => state === 'failed';
    if (!this.#results.some(hasFailed)) throw new InputError('nothing-failed', 'none failed');
    const again = { state: 'completed', value: 'again', error: null } as const;
    for (const result of this.#results.splice(0))
      this.#results.push(hasFailed(result) ? { ...result, ...again } : result);
  }

  endAsFailed(): void {
    this.#state = 'failed';
    this.#news.emit('news');
  }

  async describe() {
    const failures = this.#results.flatMap(({ index, state, error }) =>
      state === 'failed' ? [{ task: index, message: error!.message }] : [],
    );
    return detail(
      'j-1',
      failures.length > 0 ? 'failed' : this.#state === 'cancelled' ? 'cancelled' : 'completed',
      {
        failures,
      },
    );
  }

  cancel(): Promise<void> {
    this.cancels++;
    return this.silent ? new Promise(() => {}) : Promise.resolve();
  }

  end(...inputs: number[]): void {
    for (const input of inputs)
      this.#result(input, { state: 'completed', value: input * input, error: null });
  }

  fail(input: number): void {
    const error = { code: 'thrown', message: `${input} failed`, signal: null };
    this.#result(input, { state: 'failed', value: null, error });
  }

  cancelledByOthers(): void {
    this.#state = 'cancelled';
    this.#news.emit('news');
  }

  #result(input: number, end: Pick<TaskResult, 'state' | 'value' | 'error'>): void {
    const index = this.inputs.indexOf(input);
    const rest = {
      stage: 'tasks',
      attempt: 1,
      exitCode: null,
      output: { stdout: null, stderr: null, logs: '' },
    };
    this.#results.push({ index, ...rest, ...end });
    this.#news.emit('news');
  }

  async has(...inputs: number[]): Promise<void> {
    await expect.poll(() => this.inputs).toEqual(inputs);
    // No more inputs arrive automatically.
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(this.inputs).toEqual(inputs);
  }
}

/** Takes values one by one. */
function reader(values: AsyncGenerator<unknown>) {
  const next = values.next();
  return { next, values };
}

async function all(values: AsyncIterable<unknown>, taken: unknown[] = []): Promise<unknown[]> {
  for await (const value of values) taken.push(value);
  return taken;
}

describe('map', () => {
  it('appends inputs to one job, closes it, and yields values in the order of the inputs', async () => {
    const job = new OpenJob();
    const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3], { name: 'squares' }));
    await job.has(1, 2, 3);
    expect(job.submitted).toMatchObject([{ name: 'squares', open: '1h' }]);
    for (const input of [3, 2, 1]) job.end(input);
    const taken = [await next, await values.next(), await values.next()].map(({ value }) => value);
    expect(taken).toEqual([1, 4, 9]);
    expect((await values.next()).done).toBe(true);
    expect([job.closed, job.cancels, job.messages.length]).toEqual([true, 0, 1]);
  });

  it('yields one result for an input whose task was retried before its result was read', async () => {
    const job = new OpenJob();
    const options = { order: 'completed', onError: 'collect' } as const;
    const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3, 4], options));
    await job.has(1, 2, 3, 4);
    job.end(1);
    expect((await next).value).toMatchObject({ value: 1 });
    job.fail(2);
    job.end(2, 3);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    const taken = [await values.next(), await values.next()];
    expect(taken.map(({ value }) => (value as TaskResult).index)).toEqual([1, 2]);
    await values.return(undefined);
  });

  it('yields values in order of completion on request', async () => {
    const job = new OpenJob();
    const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3], { order: 'completed' }));
    await job.has(1, 2, 3);
    for (const input of [3, 1, 2]) job.end(input);
    expect([await next, await values.next(), await values.next()].map(({ value }) => value)).toEqual([
      9, 1, 4,
    ]);
    expect((await values.next()).done).toBe(true);
  });

  it('reads no more inputs than may be in flight until a result is consumed', async () => {
    const job = new OpenJob();
    let taken = 0;
    function* endless() {
      for (;;) yield ++taken;
    }
    const { next, values } = reader(mapInputs(job, WORK, endless(), { inFlight: 2 }));
    await job.has(1, 2);
    expect(taken).toBe(2);
    job.end(1);
    expect((await next).value).toBe(1);
    await job.has(1, 2, 3);
    job.end(2);
    expect((await values.next()).value).toBe(4);
    await job.has(1, 2, 3, 4);
    await values.return(undefined);
    expect(job.cancels).toBe(1);
  });

  it('bounds the bytes of large inputs, per message and in flight', async () => {
    const job = new OpenJob();
    const text = 'x'.repeat(600_000);
    const inputs = Array.from({ length: 100 }, (_, index) => ({ index, text }));
    const stop = new AbortController();
    const { next } = reader(mapInputs(job, WORK, inputs, { signal: stop.signal }));
    await expect.poll(() => job.inputs.length).toBeGreaterThan(10);
    for (let turn = 0; turn < 50; turn++) await setImmediate();
    expect(job.inputs.length).toBeLessThan(16);
    expect(Math.max(...job.messages.map(({ length }) => length))).toBeLessThanOrEqual(2);
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });

  it('continues with other inputs of any size while one takes long, in order of completion', async () => {
    const job = new OpenJob();
    function* endless() {
      for (let n = 0; ; n++) yield { n, text: 'x'.repeat(500_000), toJSON: () => n };
    }
    const options = { order: 'completed', inFlight: 8 } as const;
    const { next, values } = reader(mapInputs(job, WORK, endless(), options));
    // The first one never ends.
    for (let n = 1; n <= 50; n++) {
      await expect.poll(() => job.inputs.length).toBeGreaterThan(n);
      job.end(job.inputs[n]!);
      await (n === 1 ? next : values.next());
    }
    await values.return(undefined);
  });

  it('yields an available value while the next input is not available', async () => {
    const job = new OpenJob();
    async function* slow() {
      yield 1;
      await new Promise(() => {});
    }
    const { next, values } = reader(mapInputs(job, WORK, slow(), {}));
    await job.has(1);
    job.end(1);
    expect((await next).value).toBe(1);
    // Returning early does not wait for the next input either.
    await values.return(undefined);
  });

  it('lets the scheduler discard results that it has read, unless the map can be resumed', async () => {
    for (const key of [undefined, 'k']) {
      const job = new OpenJob();
      const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3, 4], { inFlight: 2, key }));
      await job.has(1, 2);
      job.end(1);
      await next;
      await job.has(1, 2, 3);
      expect(job.taken).toBe(key === undefined ? 1 : 0);
      await values.return(undefined);
    }
  });

  it('throws the error of the first failed input in order, and cancels the others', async () => {
    const job = new OpenJob();
    const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3], {}));
    await job.has(1, 2, 3);
    job.fail(2);
    job.end(1);
    expect((await next).value).toBe(1);
    const error: JobFailed = await values.next().then(
      () => expect.fail(),
      (thrown) => thrown,
    );
    expect(error).toBeInstanceOf(JobFailed);
    expect(error.message).toContain('2 failed');
    expect(job.cancels).toBe(1);
  });

  it('collects errors as results, and continues', async () => {
    const job = new OpenJob();
    const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3], { onError: 'collect' }));
    await job.has(1, 2, 3);
    job.end(1);
    job.fail(2);
    job.end(3);
    expect([await next, await values.next(), await values.next()]).toMatchObject([
      { value: { index: 0, state: 'completed', value: 1 } },
      { value: { index: 1, state: 'failed', error: { message: '2 failed' } } },
      { value: { index: 2, state: 'completed', value: 9 } },
    ]);
    expect((await values.next()).done).toBe(true);
  });

  it('throws if its job is cancelled elsewhere', async () => {
    const job = new OpenJob();
    const { next } = reader(mapInputs(job, WORK, [1, 2], { onError: 'collect' }));
    await job.has(1, 2);
    job.cancelledByOthers();
    await expect(next).rejects.toBeInstanceOf(JobCancelled);
  });

  it('yields the values before an invalid input, then throws its error', async () => {
    const job = new OpenJob();
    job.wrong = 150;
    const inputs = Array.from({ length: 200 }, (_, index) => index);
    const taken: unknown[] = [];
    const read = all(mapInputs(job, WORK, inputs, {}), taken);
    await expect.poll(() => job.inputs.length).toBe(150);
    job.end(...job.inputs);
    await expect(read).rejects.toThrow('150 is wrong');
    expect(taken).toHaveLength(150);
  });

  it('yields the values before the inputs threw, then throws that error', async () => {
    const job = new OpenJob();
    function* inputs() {
      yield 1;
      throw new Error('no more');
    }
    const { next, values } = reader(mapInputs(job, WORK, inputs(), {}));
    await job.has(1);
    job.end(1);
    expect((await next).value).toBe(1);
    await expect(values.next()).rejects.toThrow('no more');
    expect(job.cancels).toBe(1);
  });

  it('cancels the job when the loop ends, even during its submission, and closes its inputs', async () => {
    const job = new OpenJob();
    let submitted = (): void => {};
    job.gate = new Promise<void>((resolve) => {
      submitted = resolve;
    });
    let isOpen = true;
    function* inputs() {
      try {
        yield* [1, 2, 3, 4];
      } finally {
        isOpen = false;
      }
    }
    const stop = new AbortController();
    const { next } = reader(mapInputs(job, WORK, inputs(), { inFlight: 3, signal: stop.signal }));
    stop.abort(new Error('enough'));
    submitted();
    await expect(next).rejects.toThrow('enough');
    expect(job.cancels).toBe(1);

    const other = new OpenJob();
    const left = reader(mapInputs(other, WORK, inputs(), { inFlight: 3 }));
    await other.has(1, 2, 3);
    other.end(1);
    await left.next;
    await left.values.return(undefined);
    expect([other.cancels, isOpen]).toEqual([1, false]);
  });

  it.each([0, -1, Number.NaN])(
    'with %d inputs in flight would never end, and is refused',
    async (inFlight) => {
      const { next } = reader(mapInputs(new OpenJob(), WORK, [1], { inFlight }));
      await expect(next).rejects.toMatchObject({ name: 'InputError', code: 'bad-in-flight' });
    },
  );

  it('closes the job also without inputs, or if they end after the last result', async () => {
    const empty = new OpenJob();
    expect(await all(mapInputs(empty, WORK, [], {}))).toEqual([]);
    expect([empty.closed, empty.cancels]).toEqual([true, 0]);
    const late = new OpenJob();
    let finish = (): void => {};
    const finished = new Promise<void>((done) => (finish = done));
    const { next, values } = reader(
      mapInputs(
        late,
        WORK,
        (async function* () {
          yield 1;
          await finished;
        })(),
        {},
      ),
    );
    await late.has(1);
    late.end(1);
    expect((await next).value).toBe(1);
    finish();
    expect(await all(values)).toEqual([]);
    expect([late.closed, late.cancels]).toEqual([true, 0]);
  });

  it.each([
    [{ order: 'arrival' }, 'bad-order'],
    [{ onError: 'continue' }, 'bad-on-error'],
  ])('with the unknown option %j is refused', async (options, code) => {
    const { next } = reader(mapInputs(new OpenJob(), WORK, [1], options as unknown as MapOptions));
    await expect(next).rejects.toMatchObject({ name: 'InputError', code });
  });

  describe('with a key', () => {
    /** Stops a first run after it has read the result of 1 and appended three more inputs. */
    async function abandonedRun(): Promise<OpenJob> {
      const job = new OpenJob();
      function* endless() {
        for (let n = 1; ; n++) yield n;
      }
      const { next, values } = reader(mapInputs(job, WORK, endless(), { key: 'k', inFlight: 3 }));
      await job.has(1, 2, 3);
      job.end(1);
      await next;
      await job.has(1, 2, 3, 4);
      await values.return(undefined);
      expect([job.cancels, job.closed, job.submitted[0]!.key]).toEqual([0, false, 'k']);
      return job;
    }

    it('resumes an earlier run, and appends only missing inputs', async () => {
      const job = await abandonedRun();
      const taken = all(mapInputs(job, WORK, [1, 2, 3, 4, 5], { key: 'k' }));
      await job.has(1, 2, 3, 4, 5);
      job.end(5, 4, 3, 2);
      expect(await taken).toEqual([1, 4, 9, 16, 25]);
      expect([job.messages.at(-1), job.closed]).toEqual([[5], true]);
    });

    it('reads the results of a closed job, and reports if that has fewer inputs', async () => {
      const job = await abandonedRun();
      job.closed = true;
      job.end(4, 2, 3);
      expect(await all(mapInputs(job, WORK, [1, 2, 3, 4], { key: 'k' }))).toEqual([1, 4, 9, 16]);
      const taken: unknown[] = [];
      const more = all(mapInputs(job, WORK, [1, 2, 3, 4, 5], { key: 'k' }), taken);
      await expect(more).rejects.toMatchObject({ code: 'not-open' });
      expect(taken).toEqual([1, 4, 9, 16]);
    });

    it('reads ahead no more results than may be in flight, for any number of earlier results', async () => {
      for (const order of ['index', 'completed'] as const) {
        const job = await abandonedRun();
        job.end(2, 3, 4);
        const options = { key: 'k', order, inFlight: 2 } as const;
        const { next, values } = reader(mapInputs(job, WORK, [1, 2, 3, 4], options));
        expect((await next).value).toBe(1);
        for (let turn = 0; turn < 50; turn++) await setImmediate();
        expect(job.yielded.at(-1)).toBeLessThanOrEqual(3);
        expect(await all(values)).toEqual([4, 9, 16]);
      }
    });

    it('retries failed inputs on request if the job has ended', async () => {
      for (const retryFailed of [false, true]) {
        const job = await abandonedRun();
        job.fail(2);
        job.end(3, 4);
        job.closed = true;
        job.endAsFailed();
        const options = { key: 'k', onError: 'collect', retryFailed } as const;
        const results = (await all(mapInputs(job, WORK, [1, 2, 3, 4], options))) as TaskResult[];
        expect([results[1]!.value, job.retries]).toEqual(retryFailed ? ['again', 1] : [null, 0]);
        expect(job.submitted.at(-1)).not.toHaveProperty('retryFailed');
      }
    });

    it.each([
      ['others', [1, 7, 3, 4]],
      ['fewer', [1, 2]],
    ])('and %s inputs than the job has is an error', async (_, inputs) => {
      const job = await abandonedRun();
      await expect(all(mapInputs(job, WORK, inputs, { key: 'k' }))).rejects.toMatchObject({
        code: 'key-conflict',
      });
      expect(job.cancels).toBe(0);
    });
  });

  describe('while many inputs are in flight', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    it('appends few further inputs together after a delay, and many at once', async () => {
      const job = new OpenJob();
      const count = 800;
      const { next, values } = reader(mapInputs(job, WORK, Array(100_000).keys(), { inFlight: count }));
      await job.has(...Array(count).keys());
      const { length } = job.messages;
      const read = async (from: number, to: number) => {
        for (let n = from; n < to; n++) {
          job.end(n);
          await (n === 0 ? next : values.next());
        }
        for (let turn = 0; turn < 20; turn++) await setImmediate();
      };
      await read(0, 10);
      expect(job.messages).toHaveLength(length);
      await vi.advanceTimersByTimeAsync(50);
      await expect.poll(() => job.messages.slice(length).map((each) => each.length)).toEqual([10]);
      await read(10, 210);
      expect(job.messages.length - length).toBeGreaterThanOrEqual(2);
      expect(job.messages.length - length).toBeLessThanOrEqual(6);
      await values.return(undefined);
    });
  });

  describe('if the cluster refuses more inputs for now', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    it('waits for any number of refusals, and loses no input', async () => {
      const job = new OpenJob();
      job.refusals = 100;
      const { next, values } = reader(mapInputs(job, WORK, [1, 2], { inFlight: 2 }));
      while (job.inputs.length < 2) await vi.advanceTimersByTimeAsync(1_000);
      job.end(1, 2);
      expect([(await next).value, (await values.next()).value]).toEqual([1, 4]);
      expect((await values.next()).done).toBe(true);
    });

    it('ends if the reader has stopped', async () => {
      const job = new OpenJob();
      job.refusals = Number.POSITIVE_INFINITY;
      const stop = new AbortController();
      const { next } = reader(mapInputs(job, WORK, [1], { signal: stop.signal }));
      await vi.advanceTimersByTimeAsync(10_000);
      stop.abort(new Error('enough'));
      await expect(next).rejects.toThrow('enough');
    });

    it('can be stopped within seconds if the owner of the job does not answer', async () => {
      const job = new OpenJob();
      job.silent = true;
      const { next, values } = reader(mapInputs(job, WORK, [1, 2], { inFlight: 2 }));
      while (job.inputs.length < 2) await vi.advanceTimersByTimeAsync(1);
      job.end(1);
      await next;
      const left = values.return(undefined);
      await vi.advanceTimersByTimeAsync(2_000);
      expect((await left).done).toBe(true);
      expect(job.cancels).toBe(1);
    });

    it('throws permanent errors', async () => {
      const job = new OpenJob();
      job.refusals = 1;
      job.code = 'journal-full';
      const { next } = reader(mapInputs(job, WORK, [1], {}));
      await expect(next).rejects.toMatchObject({ code: 'journal-full' });
    });
  });
});
