import {
  type Address,
  COMPLETED,
  type JobDetail,
  type JobInput,
  type Message,
  type MessageOf,
  type MessageType,
  type Outcome,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import type { Job } from '../job/job.js';
import { CENTRAL, joined, loneScheduler, welcome } from '../lone-scheduler.fixture.js';
import type { Scheduler } from '../scheduler.js';

/** Central decides by sizes, as SLearn's generic scheduler does. */
const BY_SIZE = {
  ...PRESETS.goshawk,
  decidedBy: { policy: 'gs', options: {} },
  byClass: false,
  packs: false,
};

const worker = (index: number): Address => (100 + index) as Address;
const FAILED: Outcome = { ...COMPLETED, kind: 'failed', errorCode: 'x', errorMessage: 'x' };

/** A scheduler whose estimator samples, with workers played by the test. */
class Bench {
  readonly scheduler: Scheduler;
  now = 0;
  weighAt: number | undefined;
  #sent: { to: Address; message: Message }[] = [];
  #ask = 0;

  constructor(policy: Partial<PolicySettings> = {}, random = 0.5) {
    this.scheduler = loneScheduler(
      { enlistRetryMs: 0 },
      {
        random: () => random,
        send: (to: Address, message: Message) => this.#sent.push({ to, message }),
        setTimer: (timer, _key, at) => {
          if (timer === 'weigh') this.weighAt = at;
        },
      },
    );
    const sampled = { preset: { ...PRESETS.hawk }, cutoffMs: 1_000, estimator: 'pilot', pilotRatio: 0.2 };
    this.receive(CENTRAL, welcome({ ...sampled, ...policy }));
    const workers = Array.from({ length: 20 }, (_, i) => worker(i));
    this.receive(CENTRAL, joined(1, workers));
    this.#sent = [];
  }

  receive(from: Address, message: Message): void {
    this.scheduler.receive(from, message, this.now);
    this.scheduler.checkInvariants();
  }

  submit(tasks: number, fields: Partial<JobInput> = {}): Job {
    const input = { tasks: { count: tasks, run: { sleep: 1 } }, seed: 'seven', ...fields } as JobInput;
    return this.scheduler.submit(parseJobSpec(input), undefined, this.now);
  }

  /** A worker serves a probe of the batch. @returns its task, or −1 */
  serve(index: number, job: Job, batch: number): number {
    const message = { ask: ++this.#ask, again: false, job: job.number, stage: batch, placed: undefined };
    this.receive(worker(index), { type: 'ask', ...message });
    return this.take('run').at(-1)?.task ?? -1;
  }

  /** Central has matched these workers with the batch. @returns their tasks */
  match(job: Job, stage: number, indexes: number[]): number[] {
    const workers = indexes.map((index) => ({ worker: worker(index), match: 1 }));
    this.receive(CENTRAL, {
      type: 'matched',
      noneWaiting: undefined,
      newcomers: undefined,
      job: job.number,
      stage,
      workers,
    });
    return this.take('run').map(({ task }) => task);
  }

  end(index: number, job: Job, task: number, runMs: number, outcome = COMPLETED): void {
    const attempt = job.tasks.attemptOf(task);
    const report = {
      report: 1,
      job: job.number,
      task,
      attempt,
      outcome,
      runMs,
      output: [],
      outputBytes: 0,
      ask: 0,
    };
    this.receive(worker(index), { type: 'ended', ...report });
  }

  /** Messages of one type since the last call. */
  take<T extends MessageType>(type: T): MessageOf<T>[] {
    const taken = this.#sent.filter(({ message }) => message.type === type);
    this.#sent = this.#sent.filter(({ message }) => message.type !== type);
    return taken.map(({ message }) => message as MessageOf<T>);
  }
}

const lanesOf = (probes: readonly MessageOf<'probe'>[]) => {
  const lanes: Record<string, number> = {};
  for (const { lane } of probes) lanes[lane] = (lanes[lane] ?? 0) + 1;
  return lanes;
};
/** Batch numbers of a job with one stage: pilots, and tasks that may run early. */
const PILOTS = 1;
const EARLY = 2;

describe('an arriving job', () => {
  test.each([1, 2])('of %d tasks is not sampled, and goes ahead of others', (tasks) => {
    const bench = new Bench();
    const job = bench.submit(tasks);
    expect(lanesOf(bench.take('probe'))).toEqual({ express: 2 * tasks });
    expect([job.class, job.estimate.classifiedBy]).toEqual(['short', 'fewer than 3 tasks']);
    expect(job.estimate.sample).toBeUndefined();
  });

  test('has pilots in the express lane, and the rest in the normal one at once', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    expect(lanesOf(bench.take('probe'))).toEqual({ express: 8, normal: 16 });
    expect(job.estimate.sample!.tasks).toHaveLength(2);
    expect(job.estimate.isUndecided).toBe(true);
  });

  test('of 10,000 tasks has pilots by the ratio, up to the cap', () => {
    expect(new Bench({ pilotRatio: 0.03 }).submit(10_000).estimate.sample!.tasks).toHaveLength(300);
    expect(new Bench({ pilotsMax: 3 }).submit(10_000).estimate.sample!.tasks).toHaveLength(3);
  });

  test('has the same pilots at any scheduler, by its seed', () => {
    const tasks = (random: number, seed: string) =>
      new Bench({}, random).submit(200, { seed }).estimate.sample!.tasks;
    expect(tasks(0.1, 'a')).toEqual(tasks(0.9, 'a'));
    expect(tasks(0.1, 'a')).not.toEqual(tasks(0.1, 'b'));
    expect(new Set(tasks(0.1, 'a')).size).toBe(40);
  });

  test('with stages has its pilots in the largest eligible stage', () => {
    const bench = new Bench();
    const stage = (name: string, count: number, after: string[] = []) => ({
      name,
      after,
      tasks: { count, run: { sleep: 1 } },
    });
    const stages = [stage('few', 2), stage('many', 20), stage('later', 50, ['few'])];
    const job = bench.scheduler.submit(parseJobSpec({ stages }), undefined, 0);
    const { first, count } = job.stages[1]!;
    for (const task of job.estimate.sample!.tasks) expect(task >= first && task < first + count).toBe(true);
  });
});

describe('while its pilots run', () => {
  test('an express probe never gets another task, and one of the rest never a pilot', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    const pilots = job.estimate.sample!.tasks;
    const early = Array.from({ length: 10 }, (_, i) => bench.serve(i, job, EARLY));
    expect(early.filter((task) => task >= 0)).toHaveLength(8);
    expect(early.filter((task) => pilots.includes(task))).toEqual([]);
    expect([10, 11, 12].map((i) => bench.serve(i, job, PILOTS))).toEqual([...pilots, -1]);
  });

  test('nothing is decided before all have ended', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    const [one, other] = [bench.serve(1, job, PILOTS), bench.serve(2, job, PILOTS)];
    bench.end(1, job, one, 100);
    expect(job.estimate.isUndecided).toBe(true);
    bench.end(2, job, other, 200);
    expect([job.class, job.estimate.classifiedBy, job.estimate.meanMs]).toEqual(['short', '2 pilots', 150]);
  });

  test('a job becomes long as soon as that is certain, and its waiting tasks go to central', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    const tasks = [bench.serve(1, job, PILOTS), bench.serve(2, job, PILOTS)];
    expect(bench.weighAt).toBe(1_000);
    const early = bench.serve(3, job, EARLY);
    bench.now = 1_000;
    bench.scheduler.wake('weigh', job.number, bench.now);
    expect([job.class, job.estimate.meanMs]).toEqual(['long', 1_000]);
    const placed = bench.take('place').flatMap(({ tasks }) => tasks);
    expect(placed).toHaveLength(7);
    expect(bench.take('nowLong').map(({ task }) => task)).toEqual([...tasks, early].sort((a, b) => a - b));
    // Later replies of its probes are too late.
    expect(bench.serve(4, job, EARLY)).toBe(-1);
    expect(bench.serve(5, job, PILOTS)).toBe(-1);
  });

  test('a long job states no estimate: the elapsed time is only a lower bound of the run time', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    const tasks = [bench.serve(1, job, PILOTS), bench.serve(2, job, PILOTS)];
    const statedMs = () => {
      bench.receive(CENTRAL, { type: 'outline', id: 1 });
      const [forecast] = bench.take('outlined')[0]!.jobs[0]!.stages;
      bench.receive(CENTRAL, { type: 'describeJob', request: 1, id: job.id, spec: false });
      const [detail] = bench.take('jobDetail' as MessageType) as unknown as { value: JobDetail }[];
      const { value } = detail!;
      return [forecast!.estimateMs, value.estimateMs, value.stages[0]!.estimateMs];
    };
    bench.now = 1_000;
    bench.scheduler.wake('weigh', job.number, bench.now);
    expect([job.class, job.estimate.meanMs]).toEqual(['long', 1_000]);
    expect(statedMs()).toEqual([undefined, undefined, undefined]);
    bench.now = 9_000;
    bench.end(1, job, tasks[0]!, 5_000);
    expect(statedMs()).toEqual([undefined, undefined, undefined]);
    bench.end(2, job, tasks[1]!, 7_000);
    expect(statedMs()).toEqual([6_000, 6_000, 6_000]);
  });

  test('a decision is final', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    bench.take('probe');
    const tasks = [bench.serve(1, job, PILOTS), bench.serve(2, job, PILOTS)];
    for (const [i, task] of tasks.entries()) bench.end(1 + i, job, task, 10);
    bench.now = 1e6;
    bench.scheduler.wake('weigh', job.number, bench.now);
    expect([job.class, job.estimate.meanMs]).toEqual(['short', 10]);
    expect(lanesOf(bench.take('probe')).normal).toBe(16);
  });
});

describe('pilots without a result', () => {
  test('all fail: the job fails as usual, and its other tasks are classified by the runs that ended', () => {
    const bench = new Bench();
    const job = bench.submit(10, { retries: 1 });
    for (let run = 1; run <= 4; run++) {
      const task = bench.serve(run, job, PILOTS);
      expect(job.estimate.sample!.tasks).toContain(task);
      bench.end(run, job, task, 100 * run, FAILED);
    }
    expect([job.class, job.estimate.meanMs, job.estimate.classifiedBy]).toEqual([
      'short',
      250,
      '4 failed runs of pilots',
    ]);
    expect(job.counts.failed).toBe(2);
  });

  test('one is lost with its worker: it runs again as a pilot', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    const tasks = [bench.serve(1, job, PILOTS), bench.serve(2, job, PILOTS)];
    bench.receive(CENTRAL, {
      type: 'members',
      version: 2,
      since: 1,
      changed: [],
      left: [worker(1)],
      owners: [],
      ownersVersion: 0,
      silentMs: undefined,
    });
    expect(job.estimate.isUndecided).toBe(true);
    expect(bench.serve(3, job, PILOTS)).toBe(tasks[0]);
    bench.end(3, job, tasks[0]!, 60);
    bench.end(2, job, tasks[1]!, 40);
    expect(job.estimate.meanMs).toBe(50);
  });

  test('a cancelled job gets no decision, and starts nothing more', () => {
    const bench = new Bench();
    const job = bench.submit(10);
    const task = bench.serve(1, job, PILOTS);
    bench.scheduler.cancel(job, 10);
    expect(bench.serve(2, job, PILOTS)).toBe(-1);
    expect(bench.serve(3, job, EARLY)).toBe(-1);
    bench.end(1, job, task, 10, { ...COMPLETED, kind: 'cancelled' });
    expect([job.state, job.estimate.isUndecided]).toEqual(['cancelled', true]);
    bench.scheduler.wake('weigh', job.number, 1e6);
    expect(job.class).toBe('short');
  });
});

describe('if central matches', () => {
  const goshawk = { preset: { ...PRESETS.goshawk } };

  test('it gets the pilots, the rest separately, and then the decision', () => {
    const bench = new Bench(goshawk);
    const job = bench.submit(10);
    expect(bench.take('need').map(({ stage, tasks, part }) => [stage, tasks, part])).toEqual([
      [PILOTS, 2, 'pilots'],
      [0, 8, 'early'],
    ]);
    expect(bench.match(job, PILOTS, [1, 2])).toEqual(job.estimate.sample!.tasks);
    bench.now = 1_000;
    bench.scheduler.wake('weigh', job.number, bench.now);
    const needs = bench.take('need');
    const need = needs.at(-1);
    expect(needs.flatMap(({ about }) => about?.long)).toContain(true);
    expect(need).toMatchObject({ stage: 0, tasks: 8, part: 'judged', estimateMs: 1_000 });
    expect(need!.estimateFollows).toBe(true);
    expect(bench.take('nowLong')).toHaveLength(2);
  });

  test('it gets the estimate of a long job once, after enough pilots have ended', () => {
    const bench = new Bench({ ...goshawk, pilotRatio: 0.3, pilotQuorum: 0.5 });
    const job = bench.submit(10);
    const pilots = bench.match(job, PILOTS, [1, 2, 3]);
    bench.now = 1_000;
    bench.scheduler.wake('weigh', job.number, bench.now);
    bench.take('need');
    bench.now = 4_000;
    bench.end(1, job, pilots[0]!, 4_000);
    expect([job.estimate.meanMs, bench.take('need')]).toEqual([1_000, []]);
    // Two of three pilots have ended, and the third has run longer than both.
    bench.now = 6_000;
    bench.end(2, job, pilots[1]!, 5_000);
    expect([job.class, job.estimate.meanMs]).toEqual(['long', 5_000]);
    const [need, ...others] = bench.take('need');
    expect(need).toMatchObject({ stage: 0, tasks: 7, estimateMs: 5_000, about: { long: true } });
    expect([need!.estimateFollows, others]).toEqual([undefined, []]);
    bench.now = 90_000;
    bench.end(3, job, pilots[2]!, 90_000);
    expect([job.estimate.meanMs, bench.take('need')]).toEqual([5_000, []]);
  });

  test('it also gets the estimate of a job without waiting tasks', () => {
    const bench = new Bench(goshawk);
    const job = bench.submit(3);
    const [pilot] = bench.match(job, PILOTS, [1]);
    bench.now = 1_000;
    bench.scheduler.wake('weigh', job.number, bench.now);
    bench.match(job, 0, [2, 3]);
    bench.take('need');
    bench.now = 8_000;
    bench.end(1, job, pilot!, 8_000);
    expect(bench.take('need')).toMatchObject([
      { stage: 0, tasks: 0, estimateMs: 8_000, estimateFollows: undefined, about: { long: true } },
    ]);
  });

  test('tasks other than pilots do not affect the estimate', () => {
    const bench = new Bench(goshawk);
    const job = bench.submit(10);
    bench.match(job, PILOTS, [1, 2]);
    bench.now = 1_000;
    bench.scheduler.wake('weigh', job.number, bench.now);
    const [other] = bench.match(job, 0, [3]);
    bench.take('need');
    bench.end(3, job, other!, 7_000);
    expect([job.estimate.meanMs, bench.take('need')]).toEqual([1_000, []]);
  });
});

test('a central that plans whole jobs gets the priority of a job in its weight', () => {
  const bench = new Bench({ preset: BY_SIZE });
  const weights = (['low', 'normal', 'high'] as const).map((priority) => {
    bench.submit(2, { priority, weight: 2 });
    return bench.take('need').at(-1)!.about!.weight ?? 1;
  });
  expect(weights).toEqual([0.25, 2, 16]);
});

test('a central that plans whole jobs gets the estimate of each stage from pilots', () => {
  const preset = BY_SIZE;
  const bench = new Bench({ preset, estimator: 'slearn-dag' });
  const stages: JobInput['stages'] = [
    { name: 'map', tasks: { count: 5, run: { sleep: 1 } } },
    { name: 'reduce', after: ['map'], tasks: { count: 5, run: { sleep: 1 } } },
  ];
  const job = bench.submit(0, { tasks: undefined, stages });
  const pilots = 2;
  bench.take('need');
  const [pilot] = bench.match(job, pilots, [0]);
  bench.end(0, job, pilot!, 30_000);
  // The job is new: history estimates ten minutes for each stage, and the pilot a twentieth of it.
  const needs = bench.take('need');
  const described = needs.flatMap(({ about }) => about?.stages ?? []);
  expect(described.map(({ estimateMs, ended }) => [estimateMs, ended])).toEqual([
    [30_000, 1],
    [30_000, 0],
  ]);
  expect(needs.at(-1)).toMatchObject({ stage: 0, estimateMs: 30_000, tasks: 4 });
});

test('a stage with an estimate is described with it', () => {
  const bench = new Bench({ preset: BY_SIZE, estimator: 'given' });
  const stages: JobInput['stages'] = [
    { name: 'map', tasks: { count: 5, run: { sleep: 1 } }, estimate: 7_000 },
    { name: 'reduce', after: ['map'], tasks: { count: 5, run: { sleep: 1 } } },
  ];
  bench.submit(0, { tasks: undefined, stages, estimate: 2_000 });
  expect(bench.take('need')[0]).toMatchObject({
    stage: 0,
    estimateMs: 7_000,
    about: { stages: [{ estimateMs: 7_000 }, { estimateMs: 2_000 }] },
  });
});

test('no task of a gang runs before the others, even if the estimator requests pilots', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk, gangs: 'all' } });
  const job = bench.submit(10);
  expect(job.estimate.sample).toBeUndefined();
  expect(bench.take('need')).toMatchObject([{ tasks: 10, part: 'judged' }]);
});
