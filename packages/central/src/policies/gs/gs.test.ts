import {
  type Address,
  DEFAULT_POLICY,
  type Message,
  type MessageOf,
  NO_RESOURCES,
  type PolicySettings,
  PRESETS,
  type Resources,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Dispatcher } from '../../dispatch/dispatcher.js';
import { Gs } from './gs.js';

const OWNER = 900 as Address;
const SECOND = 1_000;

/** A cluster whose workers run what they get until they are told to end it, under `gs`. */
class Bench {
  readonly dispatcher: Dispatcher;
  now = 0;
  readonly #slots: number;
  readonly #capacity: Resources;
  readonly #running: { match: number; job: number; demand: Resources }[][];
  readonly #heard: number[][];
  readonly #demands = new Map<number, Resources>();
  /** Jobs in the order in which their tasks were started. */
  started: number[] = [];

  constructor(workers: number, slots = 1, policy: Partial<PolicySettings> = {}, capacity = NO_RESOURCES) {
    this.#slots = slots;
    this.#capacity = capacity;
    this.#running = Array.from({ length: workers }, () => []);
    this.#heard = this.#running.map(() => []);
    const settings = { ...DEFAULT_POLICY, estimator: 'oracle', cutoffMs: SECOND, ...policy };
    const env = {
      random: () => 0.5,
      send: (_to: Address, message: Message) => this.#sent(message),
      setTimer() {},
      clearTimer() {},
      nameOf: String,
    };
    this.dispatcher = new Dispatcher(env, new Gs(PRESETS.gs.decidedBy, settings), 0);
    for (let at = 0; at < workers; at++) {
      this.dispatcher.setOpen({ address: at as Address, place: at, slots, capacity }, true);
      this.#pull(at);
    }
  }

  /** @param seconds that each of its tasks is believed to take */
  need(job: number, tasks: number, seconds: number, fields: Partial<MessageOf<'need'>> = {}): void {
    const { demand = NO_RESOURCES } = fields;
    this.#demands.set(job, demand);
    const message: MessageOf<'need'> = {
      type: 'need',
      job,
      stage: 0,
      long: false,
      tasks,
      matches: 0,
      estimateMs: seconds * SECOND,
      demand,
      part: 'judged',
      jobTasks: tasks,
      ageMs: 0,
      estimateFollows: undefined,
      ...fields,
    };
    this.dispatcher.needed(OWNER, message, ++this.now);
    this.dispatcher.checkInvariants();
  }

  /** One task of the job ends somewhere. */
  end(job: number): void {
    const { at } = this.#takeOut(job);
    this.now++;
    this.#pull(at);
    this.dispatcher.checkInvariants();
  }

  /** The owner has nothing left for a worker that was found for the job. */
  unused(job: number): void {
    const { at, match } = this.#takeOut(job);
    this.dispatcher.unused({ type: 'unused', worker: at as Address, match }, ++this.now);
    this.dispatcher.checkInvariants();
  }

  /** A worker on which the job runs is gone. */
  lose(job: number): void {
    const { at } = this.#takeOut(job);
    this.#running[at] = [];
    this.dispatcher.removeWorker(at as Address, ++this.now);
    this.dispatcher.checkInvariants();
  }

  #takeOut(job: number): { at: number; match: number } {
    const at = this.#running.findIndex((tasks) => tasks.some((task) => task.job === job));
    const there = this.#running[at]!;
    const [taken] = there.splice(
      there.findIndex((task) => task.job === job),
      1,
    );
    return { at, match: taken!.match };
  }

  /** A task of the job that runs in the greatest number of slots ends, so that all are served. */
  endAny(draw: number): void {
    const busy = this.#running.flat();
    this.end(busy[draw % busy.length]!.job);
  }

  count(job: number): number {
    return this.#running.flat().filter((task) => task.job === job).length;
  }

  get busy(): number {
    return this.#running.flat().length;
  }

  /** What was started since this was asked last. */
  take(): number[] {
    const started = this.started;
    this.started = [];
    return started;
  }

  #sent(message: Message): void {
    if (message.type !== 'matched') return;
    for (const { worker, match } of message.workers) {
      this.started.push(message.job);
      const demand = this.#demands.get(message.job)!;
      this.#running[worker]!.push({ match, job: message.job, demand });
      this.#heard[worker] = [...this.#heard[worker]!, match].slice(-this.#slots);
    }
  }

  #pull(at: number): void {
    const running = this.#running[at]!;
    const used = (name: string) => running.reduce((sum, { demand }) => sum + (demand[name] ?? 0), 0);
    const left = Object.entries(this.#capacity).map(([name, amount]) => [name, amount - used(name)]);
    const message: MessageOf<'pull'> = {
      type: 'pull',
      heard: this.#heard[at]!,
      free: this.#slots - running.length,
      spare: Object.fromEntries(left),
      long: 0,
      shortMs: 0,
      runs: running.map(({ match }) => match),
    };
    this.dispatcher.pulled(at as Address, message, this.now);
  }
}

describe('queues', () => {
  test('are by the estimated size of the whole job, and the smallest comes first', () => {
    const bench = new Bench(1);
    bench.need(9, 1, 1);
    bench.need(1, 10, 2_000); // 20,000 s: the third
    bench.need(2, 10, 200); // 2,000 s: the second
    bench.need(3, 10, 20); // 200 s: the first
    bench.take();
    bench.end(9);
    bench.end(3);
    expect(bench.take()[0]).toBe(3);
  });

  test('are served in the order of arrival inside', () => {
    const bench = new Bench(1);
    bench.need(9, 1, 1);
    for (const job of [3, 1, 2]) bench.need(job, 2, 10);
    bench.take();
    for (const job of [9, 3, 3, 1, 1, 2]) bench.end(job);
    expect(bench.take()).toEqual([3, 3, 1, 1, 2, 2]);
  });

  test('the order of arrival is that at the owner, whoever is heard first', () => {
    const bench = new Bench(1);
    bench.need(9, 1, 1);
    bench.need(1, 1, 10);
    bench.need(2, 1, 10, { ageMs: 500 });
    bench.take();
    bench.end(9);
    expect(bench.take()).toEqual([2]);
  });

  test('of a job that is known now the queue is by what is known', () => {
    const bench = new Bench(1);
    bench.need(9, 1, 1);
    bench.need(1, 10, 0, { part: 'pilots', jobTasks: 10 });
    bench.need(1, 10, 200_000, { jobTasks: 10 });
    bench.need(2, 10, 200);
    bench.take();
    bench.end(9);
    expect(bench.take()).toEqual([2]);
  });
});

describe('shares', () => {
  test('loaded queues hold slots by their weights, and each one at least', () => {
    const bench = new Bench(200);
    bench.need(9, 200, 0);
    for (const [job, seconds] of [0.5, 5, 50, 500].entries()) bench.need(job + 1, 1_000, seconds);
    for (let i = 0; i < 200; i++) bench.end(9);
    const held = [1, 2, 3, 4].map((job) => bench.count(job));
    expect(held.reduce((sum, each) => sum + each)).toBe(200);
    // 200 · 1 : 0.1 : 0.01 : 0.001, of which the last two are less than one.
    expect(held[0]).toBeGreaterThanOrEqual(178);
    expect(held[1]).toBeGreaterThanOrEqual(17);
    expect(held[1]).toBeLessThanOrEqual(19);
    expect(held.slice(2)).toEqual([2, 1]);
  });

  test('what a queue does not need goes to the others', () => {
    const bench = new Bench(100);
    bench.need(1, 5, 1);
    bench.need(2, 1_000, 1_000);
    expect([bench.count(1), bench.count(2)]).toEqual([5, 95]);
  });

  test('where there are fewer slots than loaded queues the first comes first, and each has its turn', () => {
    const bench = new Bench(1);
    bench.need(9, 1, 0);
    for (const [job, seconds] of [1, 100, 10_000].entries()) bench.need(job + 1, 100, seconds);
    bench.take();
    bench.end(9);
    for (let i = 1; i < 60; i++) bench.end(bench.started.at(-1)!);
    const started = bench.take();
    expect(started.slice(0, 8)).toEqual(new Array(8).fill(1));
    const count = (job: number) => started.filter((each) => each === job).length;
    expect([1, 2, 3].map(count)).toEqual([50, 5, 5]);
  });

  test('a job of any size is served while smaller ones keep coming', () => {
    const bench = new Bench(4);
    bench.need(1_000, 4, 1e8);
    for (let i = 0; i < 4; i++) bench.end(1_000);
    bench.take();
    for (let job = 1; job <= 8; job++) bench.need(job, 1, 1);
    bench.need(2_000, 1, 1e8);
    let at = 1;
    while (bench.count(2_000) === 0 && at < 100) {
      bench.need(8 + at, 1, 1);
      bench.endAny(0);
      at++;
    }
    expect(at).toBeLessThan(3);
  });
});

describe('a slot is given to the next job', () => {
  test('when its owner has nothing for it any more', () => {
    const bench = new Bench(1);
    bench.need(1, 1, 1);
    bench.need(2, 1, 1);
    expect(bench.take()).toEqual([1]);
    bench.unused(1);
    expect(bench.take()).toEqual([2]);
  });

  test('of a queue whose task was lost with its worker, as one that the queue does not hold', () => {
    const bench = new Bench(11);
    bench.need(9, 11, 0);
    bench.need(1, 1_000, 0.5);
    bench.need(2, 1_000, 5);
    for (let i = 0; i < 11; i++) bench.end(9);
    expect([bench.count(1), bench.count(2)]).toEqual([10, 1]);
    bench.lose(2);
    bench.end(1);
    expect([bench.count(1), bench.count(2)]).toEqual([9, 1]);
  });
});

describe('sampling', () => {
  test('thin jobs come first, pilots have the second queue', () => {
    const bench = new Bench(1);
    bench.need(9, 1, 1);
    bench.need(1, 5, 100_000);
    bench.need(2, 1, 0, { part: 'pilots', jobTasks: 30 });
    bench.need(3, 1, 1e9, { part: 'thin' });
    bench.take();
    bench.end(9);
    bench.end(3);
    expect(bench.take()).toEqual([3, 2]);
  });

  test('the others of a sampled job run only where nothing else waits, in the order of arrival', () => {
    const bench = new Bench(3);
    bench.need(1, 9, 0, { part: 'early', jobTasks: 10 });
    expect(bench.take()).toEqual([1, 1, 1]);
    bench.need(2, 9, 0, { part: 'early', jobTasks: 10 });
    bench.need(3, 1, 1e9);
    bench.end(1);
    bench.end(1);
    expect(bench.take()).toEqual([3, 1]);
  });
});

describe('without sizes', () => {
  test('fifo serves jobs as they came, however large', () => {
    const bench = new Bench(1, 1, { estimator: 'fifo' });
    bench.need(1, 3, 1e9);
    bench.need(2, 1, 1);
    for (const job of [1, 1, 1]) bench.end(job);
    expect(bench.take()).toEqual([1, 1, 1, 2]);
  });

  test('las lets a job that has had little service go ahead of one that has had more', () => {
    const bench = new Bench(1, 1, { estimator: 'las' });
    bench.need(1, 3, 0);
    bench.now += 2_000 * SECOND;
    bench.need(2, 3, 0);
    bench.end(1);
    bench.end(2);
    expect(bench.take()).toEqual([1, 2, 2]);
  });
});

describe('idle slots', () => {
  const part = fc.constantFrom('judged', 'thin', 'pilots', 'early');
  const size = fc.constantFrom(0, 1, 1_000, 1e6);
  const step = fc.oneof(
    fc.record({ kind: fc.constant('need' as const), tasks: fc.integer({ min: 1, max: 6 }), part, size }),
    fc.record({ kind: fc.constant('end' as const), of: fc.nat(20) }),
  );

  test.each(['oracle', 'las', 'fifo'])('there are none while a task waits (%s)', (estimator) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (steps, slots) => {
        const bench = new Bench(3, slots, { estimator });
        let job = 0;
        for (const action of steps) {
          bench.now += 100 * SECOND;
          if (action.kind === 'need') {
            bench.need(++job, action.tasks, action.size, { part: action.part as 'judged' });
          } else if (bench.busy > 0) bench.endAny(action.of);
          expect(bench.dispatcher.waitingTasks > 0 && bench.busy < 3 * slots).toBe(false);
        }
        while (bench.busy > 0) bench.endAny(0);
        expect(bench.dispatcher.waitingTasks).toBe(0);
        expect(bench.dispatcher.refused).toBe(0);
      }),
    );
  });
});

test('a task that needs much is not overtaken for ever by those that need little', () => {
  const bench = new Bench(1, 4, { patience: 20, cutoffMs: SECOND }, { memory: 4 });
  for (let job = 1; job <= 4; job++) bench.need(job, 1, 1, { demand: { memory: 1 } });
  bench.need(100, 1, 1, { demand: { memory: 4 } });
  let job = 4;
  for (; bench.count(100) === 0 && job < 60; job++) {
    bench.need(job + 1, 1, 1, { demand: { memory: 1 } });
    bench.now += SECOND;
    bench.endAny(0);
  }
  // After 20 cutoffs the worker is kept for it, and is free when its four tasks have ended.
  expect(job).toBeLessThan(30);
});
