import {
  DEFAULT_POLICY,
  type JobInput,
  type Millis,
  NO_RESOURCES,
  PRESETS,
  type Resources,
} from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobOf, startTasks } from '../job/job.fixture.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import { Offers } from './offers.js';

let numbers = 0;

function offered(input: JobInput): Job {
  const job = jobOf(input, { number: ++numbers, route: PRESETS['goshawk-peer'].short });
  for (const stage of job.stages) job.release(stage, 0);
  return job;
}

function tasks(count: number, estimate: number, fields: Partial<JobInput> = {}): JobInput {
  return { tasks: { count, run: { sleep: 1 } }, estimate, ...fields } as JobInput;
}

const POLICY = { ...DEFAULT_POLICY, cutoffMs: 250 };

function offersOf(...jobs: Job[]): Offers {
  const offers = new Offers({ joinedPolicy: POLICY });
  for (const job of jobs) for (const stage of job.stages) offers.update(job, stage, 0);
  return offers;
}

/** Binds the next task of the job. */
function bind(job: Job): void {
  const task = job.waiting.takeNext(job.stages[0]!);
  startTasks(job, task);
}

const firstOf = (offers: Offers, spare: Resources = NO_RESOURCES, now: Millis = 0) =>
  offers.first(spare, now)?.job;

test('the batch with the least reported remaining work is first', () => {
  const [small, large] = [offered(tasks(2, 100)), offered(tasks(30, 10))];
  const offers = offersOf(large, small);
  expect(firstOf(offers)).toBe(small);
  for (let i = 0; i < 15; i++) bind(large);
  offers.update(large, large.stages[0]!, 0);
  expect(firstOf(offers)).toBe(large);
});

test('the work of a batch is scaled by its priority', () => {
  const jobs = [
    offered(tasks(1, 100, { priority: 'low' })),
    offered(tasks(4, 100, { priority: 'high' })),
    offered(tasks(1, 100)),
  ];
  const offers = offersOf(...jobs);
  expect(firstOf(offers)).toBe(jobs[1]);
  for (let i = 0; i < 4; i++) bind(jobs[1]!);
  expect(firstOf(offers)).toBe(jobs[2]);
});

test('the oldest of equal batches is first, after any number of changes', () => {
  const jobs = Array.from({ length: 6 }, () => offered(tasks(1, 100)));
  const offers = offersOf(...jobs.slice(0, 3));
  const given: (Job | undefined)[] = [];
  for (const next of [...jobs.slice(3), undefined, undefined, undefined]) {
    const first = firstOf(offers)!;
    given.push(first);
    bind(first);
    offers.update(first, first.stages[0]!, 0);
    if (next !== undefined) offers.update(next, next.stages[0]!, 0);
  }
  expect(given).toEqual(jobs);
});

test('a batch without waiting tasks is not offered, reported or not', () => {
  const [one, other] = [offered(tasks(1, 100)), offered(tasks(1, 200))];
  const offers = offersOf(one, other);
  bind(one);
  expect(firstOf(offers)).toBe(other);
  other.cancellation = {};
  expect(firstOf(offers)).toBeUndefined();
  expect(offers.size).toBe(0);
});

test('a batch that does not fit, or may not run now, is skipped and stays', () => {
  const large = offered(tasks(1, 1, { demand: { memory: 8 } }));
  const limited = offered(tasks(2, 2, { maxRunning: 1 }));
  const last = offered(tasks(1, 50));
  const offers = offersOf(large, limited, last);
  bind(limited);
  expect(firstOf(offers, { cpu: 1, memory: 4 })).toBe(last);
  expect(firstOf(offers, { cpu: 1, memory: 8 })).toBe(large);
  limited.setState(0, TaskState.completed);
  expect(firstOf(offers, { cpu: 1, memory: 4 })).toBe(limited);
});

test('the first is always the least eligible batch', () => {
  const input = fc.record({
    count: fc.integer({ min: 1, max: 4 }),
    estimate: fc.nat(5),
    memory: fc.nat(3),
  });
  const step = fc.record({ of: fc.nat(9), what: fc.constantFrom('run', 'cancel', 'say') });
  fc.assert(
    fc.property(
      fc.array(input, { maxLength: 10 }),
      fc.array(step, { maxLength: 40 }),
      fc.nat(3),
      (inputs, steps, memory) => {
        const jobs = inputs.map((given) =>
          offered(
            tasks(given.count, given.estimate, given.memory > 0 ? { demand: { memory: given.memory } } : {}),
          ),
        );
        const offers = offersOf(...jobs);
        const remaining = (job: Job) => job.spec.estimateMs! * job.stages[0]!.waiting;
        for (const { of, what } of steps) {
          const job = jobs[of];
          if (job === undefined) continue;
          if (what === 'run' && job.stages[0]!.waiting > 0) bind(job);
          if (what === 'cancel') job.cancellation = {};
          offers.update(job, job.stages[0]!, 0);
          const able = jobs.filter(
            ({ stages, cancelling }) =>
              !cancelling && stages[0]!.waiting > 0 && (stages[0]!.spec.demand.memory ?? 0) <= memory,
          );
          const first = firstOf(offers, { cpu: 1, memory });
          if (able.length === 0) expect(first).toBeUndefined();
          else expect(remaining(first!)).toBe(Math.min(...able.map(remaining)));
        }
      },
    ),
  );
});

test('a large batch waits at most the bound per task, despite smaller arrivals', () => {
  const large = offered(tasks(3, 1_000));
  const offers = offersOf(large);
  const given: Millis[] = [];
  for (let now = 100; now <= 16_000; now += 100) {
    const small = offered(tasks(1, 1));
    offers.update(small, small.stages[0]!, now);
    const first = firstOf(offers, NO_RESOURCES, now)!;
    bind(first);
    offers.update(first, first.stages[0]!, now);
    if (first === large) given.push(now);
  }
  expect(given).toEqual([5_000, 10_000, 15_000]);
});

test('an overdue batch that does not fit blocks no other', () => {
  const [large, later] = [offered(tasks(1, 1_000, { demand: { memory: 8 } })), offered(tasks(1, 500))];
  const offers = offersOf(large, later);
  const small = offered(tasks(1, 1));
  offers.update(small, small.stages[0]!, 6_000);
  expect(firstOf(offers, { cpu: 1, memory: 4 }, 6_000)).toBe(later);
  expect(firstOf(offers, { cpu: 1, memory: 8 }, 6_000)).toBe(large);
});

test('a series takes tasks with a tiny estimate or guess, and none without', () => {
  const tiny = (job: Job) => offersOf(job).firstIfTiny(NO_RESOURCES, 0, () => true)?.job;
  const job = offered({ tasks: { count: 3, run: { sleep: 1 } } });
  expect(tiny(job)).toBeUndefined();
  job.estimate.restore({ guessMs: 1 });
  expect(tiny(job)).toBe(job);
  job.estimate.restore({ guessMs: POLICY.seriesMs });
  expect(tiny(job)).toBeUndefined();
  job.estimate.restore({ estimateMs: 1 });
  expect(tiny(job)).toBe(job);
});
