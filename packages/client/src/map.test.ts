import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { InputError, type JobEvent } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { refusal } from './errors.js';
import { detail } from './fake-cluster.fixture.js';
import { type MapCluster, mapInputs } from './map.js';

const WORK = { module: '/there/work.mjs', export: 'square' };

/** A cluster whose tasks end when the test says so. */
class Gates implements MapCluster {
  /** Inputs of each job. */
  readonly jobs: number[][] = [];
  /** Of each job that was cancelled. */
  readonly cancelled: number[] = [];
  /** So many times it has enough for now. */
  refusals = 0;
  code = 'overloaded';
  /** How long tasks have run, as it says. */
  runMs = 1_000;
  /** Where it has jobs before it says so. */
  gate: (inputs: readonly number[]) => Promise<unknown> | undefined = () => undefined;
  /** It answers no request to cancel. */
  silent = false;
  /** Inputs that no job may have. */
  wrong: unknown = undefined;
  readonly #ended = new Map<number, TaskState>();
  #news = new EventEmitter().setMaxListeners(0);

  get submitted(): number[] {
    return this.jobs.flat();
  }

  async submit({ tasks }: Parameters<MapCluster['submit']>[0]) {
    const inputs = (tasks as { input: number }[]).map(({ input }) => input);
    if (this.refusals > 0) {
      this.refusals--;
      throw refusal({
        type: 'refused',
        request: 1,
        code: this.code,
        message: 'no',
        hint: '',
        retryMs: undefined,
      });
    }
    if (inputs.some((input) => input === this.wrong))
      throw new InputError('bad-job', `${this.wrong} is wrong`);
    const number = this.jobs.push(inputs);
    await this.gate(inputs);
    return {
      events: () => this.#events(`job-${number}`, inputs),
      values: async () =>
        inputs.map((input) => (this.#ended.get(input) === 'completed' ? input * input : undefined)),
      cancel: () => {
        this.cancelled.push(...inputs);
        return this.silent ? new Promise(() => {}) : Promise.resolve();
      },
    };
  }

  end(...inputs: number[]): void {
    for (const input of inputs) this.#ended.set(input, 'completed');
    this.#news.emit('news');
  }

  fail(input: number): void {
    this.#ended.set(input, 'failed');
    this.#news.emit('news');
  }

  async has(...inputs: number[]): Promise<void> {
    await expect.poll(() => this.submitted).toEqual(inputs);
    // Nothing more comes by itself.
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(this.submitted).toEqual(inputs);
  }

  async *#events(id: string, inputs: number[]): AsyncGenerator<JobEvent> {
    for (;;) {
      const states = inputs.map((input) => this.#ended.get(input));
      const completed = states.filter((state) => state === 'completed').length;
      const failed = states.filter((state) => state === 'failed').length;
      const tasks = { total: inputs.length, waiting: 0, running: 0, completed, failed, cancelled: 0 };
      if (completed + failed === inputs.length) {
        const attemptList = states.map((state, task) => ({ task, state }));
        const failures = states.flatMap((state, task) =>
          state === 'failed' ? { task, message: `${inputs[task]} failed` } : [],
        );
        const runPercentilesMs = { p50: this.runMs, p90: this.runMs, max: this.runMs };
        const job = detail(id, failed > 0 ? 'failed' : 'completed', {
          ...{ tasks, attemptList, failures, runPercentilesMs },
        });
        return yield { kind: 'ended', job, starts: undefined, runs: undefined };
      }
      const news = once(this.#news, 'news');
      yield { kind: 'progress', job: detail(id, 'running', { tasks }) };
      await news;
    }
  }
}

type TaskState = 'completed' | 'failed';

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
  it('gives results in the order of the inputs, whichever ends first', async () => {
    const cluster = new Gates();
    const { next, values } = reader(mapInputs(cluster, WORK, [1, 2, 3], {}));
    await cluster.has(1, 2, 3);
    for (const input of [3, 2, 1]) cluster.end(input);
    expect([await next, await values.next(), await values.next()].map(({ value }) => value)).toEqual([
      1, 4, 9,
    ]);
    expect((await values.next()).done).toBe(true);
    expect(cluster.cancelled).toEqual([]);
  });

  it('takes no more inputs than may be in flight, until a result is taken', async () => {
    const cluster = new Gates();
    let taken = 0;
    function* endless() {
      for (;;) yield ++taken;
    }
    const { next, values } = reader(mapInputs(cluster, WORK, endless(), { inFlight: 2 }));
    await cluster.has(1, 2);
    expect(taken).toBe(2);
    cluster.end(1);
    expect((await next).value).toBe(1);
    cluster.end(2);
    expect((await values.next()).value).toBe(4);
    const third = values.next();
    await cluster.has(1, 2, 3, 4);
    cluster.end(3);
    expect((await third).value).toBe(9);
    await values.return(undefined);
  });

  it('gives a result that is there while the next input is not', async () => {
    const cluster = new Gates();
    async function* slow() {
      yield 1;
      await new Promise(() => {});
    }
    const { next, values } = reader(mapInputs(cluster, WORK, slow(), {}));
    await cluster.has(1);
    cluster.end(1);
    expect((await next).value).toBe(1);
    // Leaving does not wait for it either.
    await values.return(undefined);
  });

  it('cancels also the jobs whose submission was under way as the loop was left', async () => {
    const cluster = new Gates();
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    cluster.gate = ([input]) => (input === 2 ? opened : undefined);
    const { next, values } = reader(mapInputs(cluster, WORK, [1, 2, 3], {}));
    await cluster.has(1, 2, 3);
    cluster.end(1);
    await next;
    const left = values.return(undefined);
    open();
    await left;
    expect(cluster.cancelled.toSorted()).toEqual([2, 3]);
  });

  it('ends when it is aborted while nothing runs and the next input does not come', async () => {
    const abort = new AbortController();
    async function* never() {
      await new Promise(() => {});
    }
    const { next } = reader(mapInputs(new Gates(), WORK, never(), { signal: abort.signal }));
    abort.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });

  it.each([0, -1, Number.NaN])('of %d inputs in flight would never end, and is refused', async (inFlight) => {
    const { next } = reader(mapInputs(new Gates(), WORK, [1], { inFlight }));
    await expect(next).rejects.toMatchObject({ name: 'InputError', code: 'bad-in-flight' });
  });

  describe('where the cluster has enough for now', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    it('waits, however often it is refused, and loses no input', async () => {
      const cluster = new Gates();
      cluster.refusals = 100;
      const { next, values } = reader(mapInputs(cluster, WORK, [1, 2], { inFlight: 2 }));
      while (cluster.refusals > 0) await vi.advanceTimersByTimeAsync(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
      cluster.end(1);
      cluster.end(2);
      expect([(await next).value, (await values.next()).value]).toEqual([1, 4]);
      expect((await values.next()).done).toBe(true);
    });

    it('ends where nobody waits for it any more', async () => {
      const cluster = new Gates();
      cluster.refusals = Number.POSITIVE_INFINITY;
      const stop = new AbortController();
      const { next } = reader(mapInputs(cluster, WORK, [1], { signal: stop.signal }));
      await vi.advanceTimersByTimeAsync(10_000);
      stop.abort(new Error('enough'));
      await expect(next).rejects.toThrow('enough');
    });

    it('is left in seconds where the owner of a job does not answer', async () => {
      const cluster = new Gates();
      cluster.silent = true;
      const { next, values } = reader(mapInputs(cluster, WORK, [1, 2], { inFlight: 2 }));
      while (cluster.jobs.length < 2) await vi.advanceTimersByTimeAsync(1);
      cluster.end(1);
      await next;
      const left = values.return(undefined);
      await vi.advanceTimersByTimeAsync(2_000);
      expect((await left).done).toBe(true);
      expect(cluster.cancelled).toEqual([2]);
    });

    it('throws what does not end by itself', async () => {
      const cluster = new Gates();
      cluster.refusals = 1;
      cluster.code = 'journal-full';
      const { next } = reader(mapInputs(cluster, WORK, [1], {}));
      await expect(next).rejects.toMatchObject({ code: 'journal-full' });
    });
  });

  it('throws of the first in order that failed, and cancels the others', async () => {
    const cluster = new Gates();
    const { next, values } = reader(mapInputs(cluster, WORK, [1, 2, 3], {}));
    await cluster.has(1, 2, 3);
    cluster.fail(2);
    cluster.end(1);
    expect((await next).value).toBe(1);
    await expect(values.next()).rejects.toThrow('2 failed');
    expect(cluster.cancelled).toEqual([3]);
  });

  it('cancels what is under way when the loop is left, and lets its inputs go', async () => {
    const cluster = new Gates();
    let isOpen = true;
    function* inputs() {
      try {
        yield* [1, 2, 3, 4];
      } finally {
        isOpen = false;
      }
    }
    const { next, values } = reader(mapInputs(cluster, WORK, inputs(), { inFlight: 3 }));
    await cluster.has(1, 2, 3);
    cluster.end(1);
    await next;
    await values.return(undefined);
    expect(cluster.cancelled).toEqual([2, 3]);
    expect(isOpen).toBe(false);
  });

  describe('where inputs take a moment only', () => {
    const INPUTS = Array.from({ length: 200 }, (_, index) => index);

    /** Its tasks end as they come. */
    class Quick extends Gates {
      constructor() {
        super();
        this.runMs = 0.1;
      }

      override async submit(job: Parameters<MapCluster['submit']>[0]) {
        const taken = await super.submit(job);
        this.end(...(job.tasks as { input: number }[]).map(({ input }) => input));
        return taken;
      }
    }

    it('puts more and more of them into a job, up to a quarter of those in flight, and keeps their order', async () => {
      const cluster = new Quick();
      const values = await all(mapInputs(cluster, WORK, INPUTS, { inFlight: 32 }));
      expect(values).toEqual(INPUTS.map((input) => input * input));
      expect(cluster.submitted).toEqual(INPUTS);
      const sizes = cluster.jobs.map(({ length }) => length);
      expect(sizes[0]).toBe(1);
      expect(Math.max(...sizes)).toBe(8);
    });

    it('makes a job of each where a limit of the job is meant of each input', async () => {
      for (const limit of [{ timeLimit: 1_000 }, { maxRunning: 1 }, { deadline: 1_000 }]) {
        const cluster = new Quick();
        await all(mapInputs(cluster, WORK, INPUTS, limit));
        expect(cluster.jobs).toHaveLength(INPUTS.length);
      }
    });

    it('makes jobs of large inputs small, and takes an input that is larger than that', async () => {
      const cluster = new Quick();
      const large = INPUTS.map((input) => ({ input, text: 'x'.repeat(input === 100 ? 1_000_000 : 20_000) }));
      expect(await all(mapInputs(cluster, WORK, large, {}))).toHaveLength(INPUTS.length);
      expect(Math.max(...cluster.jobs.map(({ length }) => length))).toBe(3);
    });

    it('gives the values before an input that is wrong, and throws of that one', async () => {
      const cluster = new Quick();
      cluster.wrong = 150;
      const taken: unknown[] = [];
      await expect(all(mapInputs(cluster, WORK, INPUTS, {}), taken)).rejects.toThrow('150 is wrong');
      expect(taken).toHaveLength(150);
    });
  });

  describe('of several inputs in one job', () => {
    /** The job of 8 of these has not ended. */
    async function shared() {
      const cluster = new Gates();
      cluster.runMs = 0.1;
      const first = Array.from({ length: 40 }, (_, index) => index + 1);
      const values = mapInputs(cluster, WORK, [...first, ...first.map((input) => input + 100)], {
        inFlight: 32,
      });
      cluster.end(...first);
      for (const input of first) expect((await values.next()).value).toBe(input * input);
      const next = values.next();
      const ofEight = () => cluster.jobs.find((inputs) => inputs.length === 8 && inputs[0]! > 100);
      await expect.poll(ofEight).toBeDefined();
      const job = ofEight()!;
      const before = cluster.submitted.filter((input) => input > 100 && input < job[0]!);
      return { cluster, values, next, job, before };
    }

    it('gives results while one that comes after them has none', async () => {
      const { cluster, values, next, job, before } = await shared();
      cluster.end(...before, ...job.slice(0, 3), job[7]!);
      const taken = [(await next).value];
      while (taken.length < before.length + 3) taken.push((await values.next()).value);
      expect(taken).toEqual([...before, ...job.slice(0, 3)].map((input) => input * input));
      await values.return(undefined);
      expect(cluster.cancelled).toEqual(expect.arrayContaining(job));
    });

    it('submits what was gathered as the cluster runs out of work, though the first input has no value yet', async () => {
      const cluster = new Gates();
      cluster.runMs = 0.1;
      const quick = Array.from({ length: 40 }, (_, index) => index + 1);
      const values = mapInputs(cluster, WORK, [...quick, ...quick.map((input) => input + 100)], {
        inFlight: 32,
      });
      cluster.end(...quick);
      for (const input of quick) expect((await values.next()).value).toBe(input * input);
      const next = values.next();
      const inFlight = quick.slice(0, 32).map((input) => input + 100);
      // Half of what may be in flight is enough to do.
      await expect.poll(() => cluster.submitted.length).toBeGreaterThanOrEqual(40 + 16);
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      cluster.end(...cluster.submitted.slice(41));
      await expect.poll(() => cluster.submitted).toEqual([...quick, ...inFlight]);
      cluster.end(101);
      expect((await next).value).toBe(101 * 101);
      await values.return(undefined);
    });

    it('gives results of those before one that failed, and throws then', async () => {
      const { cluster, values, next, job, before } = await shared();
      cluster.end(...before, ...job.filter((_, index) => index !== 3));
      cluster.fail(job[3]!);
      await next;
      for (let taken = 1; taken < before.length + 3; taken++) expect((await values.next()).done).toBe(false);
      await expect(values.next()).rejects.toThrow(`${job[3]} failed`);
    });
  });
});
