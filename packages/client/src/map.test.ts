import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { refusal } from './errors.js';
import { type MapCluster, mapInputs } from './map.js';

const WORK = { module: '/there/work.mjs', export: 'square' };

/** A cluster whose jobs end when the test says so. */
class Gates implements MapCluster {
  readonly submitted: number[] = [];
  readonly cancelled: number[] = [];
  /** So many times it has enough for now. */
  refusals = 0;
  code = 'overloaded';
  readonly #ends = new Map<number, { resolve(values: unknown[]): void; reject(error: Error): void }>();

  async submit({ tasks }: Parameters<MapCluster['submit']>[0]) {
    const { input } = (tasks as { input: number }[])[0]!;
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
    this.submitted.push(input);
    const result = new Promise<unknown[]>((resolve, reject) => this.#ends.set(input, { resolve, reject }));
    return {
      result: () => result,
      cancel: async () => void this.cancelled.push(input),
    };
  }

  end(input: number): void {
    this.#ends.get(input)!.resolve([input * input]);
  }

  fail(input: number): void {
    this.#ends.get(input)!.reject(new Error(`${input} failed`));
  }

  async has(...inputs: number[]): Promise<void> {
    await expect.poll(() => this.submitted).toEqual(inputs);
    // Nothing more comes by itself.
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(this.submitted).toEqual(inputs);
  }
}

/** Takes values one by one. */
function reader(values: AsyncGenerator<unknown>) {
  const next = values.next();
  return { next, values };
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
    expect(cluster.cancelled).toEqual([2, 3]);
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
});
