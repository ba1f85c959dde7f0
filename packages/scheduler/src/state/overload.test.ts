import { type JobInput, LIMITS, type MessageOf, type Payload, parseJobSpec } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LoadLimits } from '../contract.js';
import { JobStore } from '../durability/job-store.js';
import { sharesOf } from '../durability/memory-shares.js';
import { Quotas } from '../durability/quotas.js';
import { jobOf, startTasks } from '../job/job.fixture.js';
import type { Job } from '../job/job.js';
import { estimateJobBytes } from '../job/job-bytes.js';
import { TaskState } from '../job/task-state.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './overload.js';

/** About 10 kB in memory. */
const LARGE: NonNullable<JobInput['tasks']> = [{ exec: ['cat', 'x'.repeat(7_000)] }];

/** An owner reduced to its jobs. */
class Bench {
  readonly jobs: JobStore;
  readonly forgotten: number[] = [];
  readonly overload: Overload;
  now = 0;

  constructor(limits: Partial<LoadLimits>, jobsMax = 10_000) {
    this.jobs = new JobStore({
      config: { tag: 's', endedJobsMax: 100, endedJobsKeepMs: 1e9, logBytesMax: 1_000, wallOffsetMs: 0 },
      lastJob: 0,
      shares: { ...sharesOf(1e9), jobsMax },
      records: { recordsDeleted: (job) => this.forgotten.push(job) },
      random: () => 0.5,
    });
    this.overload = new Overload(
      this.jobs,
      { ...DEFAULT_LOAD_LIMITS, activeBytesMax: 1e9, ...limits },
      () => 0.5,
    );
  }

  add(input: JobInput = { tasks: [{ sleep: 1 }] }): Job {
    const { number } = this.jobs.allocateId();
    const job = jobOf(input, { number, acceptedAt: this.now });
    this.jobs.add(job);
    return job;
  }

  end(job: Job): void {
    job.end(this.now);
    this.jobs.ended(job, this.now);
    this.overload.ended(job, this.now);
  }
}

/** The limits of central's file of users. */
function quotasOf(jobs: JobStore, holders: MessageOf<'limits'>['holders']): Quotas {
  const quotas = new Quotas(jobs, () => false);
  quotas.setLimits({ type: 'limits', holders, elsewhere: [], projectsElsewhere: [], part: undefined });
  return quotas;
}

describe('too much', () => {
  test('are more jobs than a scheduler holds, until one has ended', () => {
    const bench = new Bench({ activeJobsMax: 2 });
    const first = bench.add();
    expect(bench.overload.refusal(undefined)).toBeUndefined();
    bench.add();
    expect(bench.overload.refusal(undefined)).toMatchObject({ code: 'overloaded', retryMs: 500 });
    bench.end(first);
    expect(bench.overload.refusal(undefined)).toBeUndefined();
  });

  test('are jobs that need more memory than there is, for any number of jobs', () => {
    const bench = new Bench({ activeBytesMax: 100_000 });
    const large = bench.add({ tasks: [{ exec: ['cat', 'x'.repeat(100_000)] }] });
    expect(bench.overload.refusal(undefined)).toMatchObject({ code: 'overloaded' });
    bench.end(large);
    expect(bench.overload.refusal(undefined)).toBeUndefined();
  });

  test('is a job larger than the scheduler’s memory, which must not be retried', () => {
    const bench = new Bench({ activeBytesMax: 2 * 2 ** 20 }, 1e9);
    const bytes = estimateJobBytes(parseJobSpec({ tasks: [{ exec: ['cat', 'x'.repeat(100_000)] }] }));
    expect(bench.overload.refusalOfBytes('eve', bytes)).toBeUndefined();
    const refusal = bench.overload.refusalOfBytes('eve', 3 * 2 ** 20);
    expect(refusal).toMatchObject({
      code: 'job-too-large',
      message: 'the job takes 3 MiB of this scheduler’s memory, which has 2 MiB for the jobs of one user',
    });
    expect(refusal!.retryMs).toBeUndefined();
  });

  test('is a job without room beside the active ones, until one ends', () => {
    const bench = new Bench({ activeBytesMax: 250_000 }, 1e9);
    const job = bench.add({ tasks: [{ exec: ['cat', 'x'.repeat(100_000)] }] });
    expect(bench.overload.refusalOfBytes('eve', 100_000)).toBeUndefined();
    expect(bench.overload.refusalOfBytes('eve', 180_000)).toMatchObject({
      code: 'overloaded',
      cause: 'memory',
    });
    bench.end(job);
    expect(bench.overload.refusalOfBytes('eve', 180_000)).toBeUndefined();
  });

  test('are jobs of one user that would evict ended jobs of another', () => {
    const bench = new Bench({ activeBytesMax: 450_000 }, 550_000);
    const theirs = Array.from({ length: 20 }, () => bench.add({ user: 'ada', tasks: LARGE }));
    for (const job of theirs) bench.end(job);
    let active = 0;
    const of = (user: string): JobInput => ({ user, tasks: LARGE });
    const size = estimateJobBytes(parseJobSpec(of('eve')));
    for (; bench.overload.refusalOfBytes('eve', size) === undefined; active++) bench.add(of('eve'));
    expect(active).toBeGreaterThan(20);
    expect(bench.overload.refusalOfBytes('eve', size)).toMatchObject({
      code: 'overloaded',
      message: expect.stringMatching(/jobs of eve .* (share|one user)/),
    });
    bench.jobs.evictOld(bench.now);
    const kept = () => {
      const inMemory = [...bench.jobs.endedNewestFirst(['completed'])].map(({ spec }) => spec.user);
      const away = [...bench.jobs.archivedNewestFirst(['completed'])].map(({ user }) => user);
      return [...inMemory, ...away].filter((user) => user === 'ada').length;
    };
    expect(kept()).toBe(20);
    // The large jobs may end, too: they make room only for themselves.
    for (const job of [...bench.jobs.active()]) bench.end(job);
    for (let more = 0; more < 100; more++) bench.end(bench.add(of('eve')));
    expect(kept()).toBe(20);
    expect(bench.overload.refusalOfBytes('bob', size)).toBeUndefined();
  });

  test('is the usage of one user, and the others are served', () => {
    const bench = new Bench({ activeJobsPerUserMax: 1 });
    const job = bench.add({ user: 'eve', tasks: [{ sleep: 1 }] });
    expect(bench.overload.refusalOf('eve', 1)).toMatchObject({
      code: 'overloaded',
      cause: 'user-jobs',
      message: '1 jobs of eve are active at this scheduler, the most that it holds for one user',
    });
    expect(bench.overload.refusalOf('ada', 1)).toBeUndefined();
    expect(bench.overload.refusalOf(undefined, 1)).toBeUndefined();
    bench.end(job);
    expect(bench.overload.refusalOf('eve', 1)).toBeUndefined();
  });

  test('are waiting tasks of one user, until some start', () => {
    const bench = new Bench({ userWaitingTasksMax: 10 });
    const job = bench.add({ user: 'eve', tasks: { count: 8, run: { sleep: 1 } } });
    expect(bench.overload.refusalOf('eve', 2)).toBeUndefined();
    expect(bench.overload.refusalOf('eve', 3)).toMatchObject({
      code: 'overloaded',
      message:
        'eve has 8 tasks waiting here, and this job has 3; at most 10 tasks of one user may wait at a scheduler (--user-waiting-tasks-max)',
    });
    expect(bench.overload.refusalOf('ada', 10)).toBeUndefined();
    job.setState(0, TaskState.waiting);
    startTasks(job, 0);
    expect(bench.overload.refusalOf('eve', 3)).toBeUndefined();
    job.setState(0, TaskState.waiting);
    expect(bench.overload.refusalOf('eve', 3)).toBeDefined();
    for (let task = 0; task < 8; task++) job.setState(task, TaskState.cancelled);
    expect(bench.overload.refusalOf('eve', 10)).toBeUndefined();
    bench.end(job);
    expect(bench.jobs.activeByUser.size).toBe(0);
  });

  test('is what one user may hold, so that another user always has room for a small job', () => {
    const user = fc.constantFrom('eve', 'mallory', 'ada');
    const each = fc.record({ user, kilobytes: fc.nat(400), isHeld: fc.boolean(), grows: fc.boolean() });
    fc.assert(
      fc.property(fc.array(each, { minLength: 20, maxLength: 200 }), (inputs) => {
        const max = 4 * 2 ** 20;
        const bench = new Bench({ activeBytesMax: max }, 1e9);
        for (const { user, kilobytes, isHeld, grows } of inputs) {
          const input: JobInput = {
            user,
            tasks: [{ exec: ['cat'], stdin: new Uint8Array(kilobytes * 1_000) }],
            ...(isHeld ? { hold: true } : {}),
          };
          const bytes = estimateJobBytes(parseJobSpec(input));
          if (bench.overload.refusalOfBytes(user, bytes) !== undefined) continue;
          const job = bench.add(input);
          const others = bench.jobs.activeBytes - bench.jobs.activeBytesOf(user);
          const share = Math.max(0.75 * (max - others), 0.05 * max);
          expect(bench.jobs.activeBytesOf(user)).toBeLessThanOrEqual(share);
          // Results of running tasks grow without being asked for, here by up to a tenth of all memory.
          if (grows && bench.jobs.activeBytes < 1.1 * max) {
            job.bytes.spec += 50_000;
            bench.jobs.updateBytes(job);
          }
        }
        const small = estimateJobBytes(parseJobSpec({ tasks: [{ exec: ['true', 'x'.repeat(3_000)] }] }));
        expect(bench.overload.refusal('bob')).toBeUndefined();
        expect(bench.overload.refusalOfBytes('bob', small)).toBeUndefined();
      }),
      { seed: 4, numRuns: 200 },
    );
  });

  test('is never every job that a waiting task submits', () => {
    // Each level adds room for at least one job.
    const limits = fc.constantFrom<Partial<LoadLimits>>(
      { activeBytesMax: 1_000_000 },
      { activeJobsMax: 80 },
      { activeJobsPerUserMax: 60 },
    );
    const nests = fc.array(fc.integer({ min: 0, max: LIMITS.nestedMax }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(limits, nests, fc.nat(9), (limit, depths, extraKilobytes) => {
        const bench = new Bench(limit, 1e9);
        const tasks = [{ exec: ['cat', 'x'.repeat(5_000 + 1_000 * extraKilobytes)] }];
        const bytes = estimateJobBytes(parseJobSpec({ user: 'eve', tasks }));
        const waiting: { job: Job; depth: number; child?: Job; isServed: boolean }[] = [];
        const submit = (depth: number, parent?: Job): Job | undefined => {
          const of = parent && { job: bench.jobs.idOf(parent.number), task: 0, worker: 'w', match: 0 };
          const input: JobInput = { user: 'eve', tasks, ...(of === undefined ? {} : { parent: of }) };
          const { overload } = bench;
          const refusal =
            overload.refusal('eve', of?.job) ??
            overload.refusalOf('eve', 1, of?.job) ??
            overload.refusalOfBytes('eve', bytes, of?.job);
          if (refusal !== undefined) return undefined;
          const job = bench.add(input);
          waiting.push({ job, depth, isServed: depth === 0 });
          return job;
        };
        for (let i = 0; submit(depths[i % depths.length]!) !== undefined; i++);
        expect(waiting.length).toBeGreaterThan(20);
        while (waiting.length > 0) {
          let isProgress = false;
          for (const each of [...waiting]) {
            if (each.child?.hasEnded === true) each.isServed = true;
            if (each.isServed) {
              bench.end(each.job);
              waiting.splice(waiting.indexOf(each), 1);
            } else {
              if (each.child !== undefined) continue;
              if (each.job.counts.running === 0) startTasks(each.job, 0);
              const child = submit(each.depth - 1, each.job);
              if (child === undefined) continue;
              each.child = child;
            }
            isProgress = true;
          }
          expect(isProgress).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('do not grow with parents that do not run, or belong to another user', () => {
    const chain = fc.array(fc.record({ user: fc.constantFrom('eve', 'ada'), runs: fc.boolean() }), {
      maxLength: 10,
    });
    fc.assert(
      fc.property(chain, (jobs) => {
        const bench = new Bench({ userWaitingTasksMax: 10 });
        let of: string | undefined;
        let levels = 0;
        for (const { user, runs } of jobs) {
          const parent = of === undefined ? {} : { parent: { job: of, task: 0, worker: 'w', match: 0 } };
          const job = bench.add({ user, tasks: [{ sleep: 1 }], ...parent });
          if (runs) startTasks(job, 0);
          levels = runs && user === 'eve' ? levels + 1 : 0;
          of = bench.jobs.idOf(job.number);
        }
        const { waiting } = bench.jobs.activeOf('eve');
        const most = 10 * (1 + Math.min(levels, LIMITS.nestedMax)) - waiting;
        for (const tasks of [most, most + 1].filter((each) => each > 0 && each <= 10))
          expect([tasks, bench.overload.refusalOf('eve', tasks, of) === undefined]).toEqual([
            tasks,
            tasks === most,
          ]);
      }),
    );
  });

  test('are never the tasks of a job that a running task waits for', () => {
    const scopes: Readonly<Record<string, (bench: Bench, limit: number) => Quotas>> = {
      'a user at this scheduler': ({ jobs }) => new Quotas(jobs, () => false),
      'each user': ({ jobs }, waiting) => quotasOf(jobs, [{ holder: '*', waiting }]),
      'a project': ({ jobs }, waiting) =>
        quotasOf(jobs, [
          { holder: 'eve', project: 'p' },
          { holder: '@p', waiting },
        ]),
    };
    const shape = fc.integer({ min: 1, max: 20 }).chain((limit) =>
      fc.record({
        limit: fc.constant(limit),
        sizes: fc.array(fc.integer({ min: 1, max: limit }), { minLength: 1, maxLength: 9 }),
        depths: fc.array(fc.integer({ min: 0, max: LIMITS.nestedMax }), { minLength: 1, maxLength: 9 }),
        slots: fc.integer({ min: 1, max: 4 }),
        scope: fc.constantFrom(...Object.keys(scopes)),
      }),
    );
    fc.assert(
      fc.property(shape, ({ limit, sizes, depths, slots, scope }) => {
        const here = scope === 'a user at this scheduler';
        const bench = new Bench(here ? { userWaitingTasksMax: limit } : {}, 1e9);
        const quotas = scopes[scope]!(bench, limit);
        const active: { job: Job; depth: number; child?: Job; parent: Job | undefined }[] = [];
        let made = 0;
        const submit = (depth: number, parent?: Job): Job | undefined => {
          const tasks = Array.from({ length: sizes[made % sizes.length]! }, () => ({ sleep: 1 }));
          const of = parent && { job: bench.jobs.idOf(parent.number), task: 0, worker: 'w', match: 0 };
          const input: JobInput = { user: 'eve', tasks, ...(of === undefined ? {} : { parent: of }) };
          const refusal =
            quotas.refusalOf(parseJobSpec(input), tasks.length, 0, 0) ??
            bench.overload.refusalOf('eve', tasks.length, of?.job);
          if (refusal !== undefined) return undefined;
          made++;
          const job = bench.add(input);
          active.push({ job, depth, parent });
          return job;
        };
        while (made < 50 && submit(depths[made % depths.length]!) !== undefined);
        while (active.length > 0) {
          let isProgress = false;
          let free = slots;
          for (const each of [...active]) {
            // Waiting tasks lend their CPUs to the jobs that they wait for.
            if (each.parent === undefined && free-- <= 0) continue;
            if (each.job.counts.running === 0) startTasks(each.job, 0);
            if (each.depth === 0 || each.child?.hasEnded === true) {
              bench.end(each.job);
              active.splice(active.indexOf(each), 1);
            } else if (each.child !== undefined) continue;
            else {
              const child = submit(each.depth - 1, each.job);
              if (child === undefined) continue;
              each.child = child;
            }
            isProgress = true;
          }
          expect(isProgress).toBe(true);
        }
      }),
    );
  });

  test('are jobs of one user at a time, so that others can always add some', () => {
    const bench = new Bench({ activeJobsMax: 100, activeJobsPerUserMax: 50 });
    for (const user of ['eve', 'mallory', 'trent']) {
      while (bench.overload.refusalOf(user, 1) === undefined) bench.add({ user, tasks: [{ sleep: 1 }] });
      expect(bench.overload.refusal('ada')).toBeUndefined();
      expect(bench.overload.refusalOf('ada', 1)).toBeUndefined();
    }
    expect(bench.jobs.activeOf('eve').jobs).toBe(50);
  });

  test('is a job with more tasks than a user may have, which must not be retried', () => {
    const refusal = new Bench({ userWaitingTasksMax: 10 }).overload.refusalOf('eve', 11);
    expect(refusal).toMatchObject({ code: 'job-too-large' });
    expect(refusal!.retryMs).toBeUndefined();
  });
});

test('a refusal says when to retry, based on the rate at which jobs end', () => {
  const bench = new Bench({ activeJobsMax: 1 });
  for (let i = 0; i < 200; i++) {
    bench.now += 2_000;
    bench.end(bench.add());
  }
  bench.add();
  const retryTimes = Array.from({ length: 20 }, () => bench.overload.refusal(undefined)!.retryMs!);
  expect(retryTimes[0]).toBeCloseTo(2_000, -1);
  expect(retryTimes[4]).toBeCloseTo(10_000, -1);
  expect(Math.max(...retryTimes)).toBe(30_000);
});

test.each<[string, readonly Payload[], number]>([
  ['a sleep', [{ sleep: 1 }], 3_200 + 64 + 32 + 5],
  ['text', [{ exec: ['x'.repeat(1_000)] }], 3_000],
  ['bytes', [{ exec: ['cat'], stdin: new Uint8Array(1_000_000) }], 1_000_000],
  ['what is nested', [{ module: '/m.js', input: { a: [['y'.repeat(50_000)]] } }], 50_000],
])('%s counts by its size', (_, tasks, least) => {
  const bytes = estimateJobBytes(parseJobSpec({ tasks: [...tasks] }));
  expect(bytes).toBeGreaterThanOrEqual(least);
  expect(bytes).toBeLessThan(1.1 * least + 4_000);
});
