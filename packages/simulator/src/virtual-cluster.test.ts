import {
  type Address,
  ablate,
  type ClusterSettings,
  DEFAULT_POLICY,
  type Environment,
  LIVE_TIMINGS,
  NOTHING_ABLATED,
  POLICY_NAMES,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  Random,
  RELIABLE_TIMINGS,
  type Timings,
} from '@goshawk/core';
import { type Job, TaskState } from '@goshawk/scheduler';
import { describe, expect, test } from 'vitest';
import { VirtualCluster, type VirtualClusterOptions } from './virtual-cluster.js';

const CUTOFF_MS = 1_000;

function settingsOf(
  policy: Partial<PolicySettings> = {},
  timings: Timings = RELIABLE_TIMINGS,
): ClusterSettings {
  return { policy: { ...DEFAULT_POLICY, cutoffMs: CUTOFF_MS, stealRetry: 'never', ...policy }, timings };
}

const workersOf = ({ tasks }: Job): Address[] =>
  Array.from({ length: tasks.count }, (_, task) => tasks.workerOf(task));

function sleeps(durations: readonly number[]) {
  const estimate = durations.reduce((sum, ms) => sum + ms, 0) / durations.length;
  return parseJobSpec({ tasks: durations.map((sleep) => ({ sleep })), estimate });
}

/** Submits jobs of 1 to 12 tasks, a tenth of them long: 90% load on 20 slots. */
function workload(cluster: VirtualCluster, jobs: number, seed: string, schedulers: number): number {
  const random = Random.seeded(seed);
  let tasks = 0;
  let arrival = 10;
  for (let i = 0; i < jobs; i++) {
    arrival += 426 * random.next();
    const long = random.next() < 0.1;
    const count = 1 + Math.floor(random.next() * 12);
    const mean = long ? 5_000 : 100;
    cluster.submitAt(
      arrival,
      i % schedulers,
      sleeps(Array.from({ length: count }, () => mean * (0.5 + random.next()))),
    );
    tasks += count;
  }
  return tasks;
}

interface Observed {
  readonly cluster: VirtualCluster;
  readonly ended: Job[];
  readonly hash: number;
}

function observe(
  options: Partial<VirtualClusterOptions> & { settings: ClusterSettings },
  jobs: number,
  seed: string,
): Observed {
  const ended: Job[] = [];
  let hash = 0;
  const schedulers = options.schedulers ?? 3;
  const cluster = new VirtualCluster({
    workers: 20,
    schedulers,
    seed,
    checked: true,
    onJobEnd: (job) => ended.push(job),
    carry: (from, to, message, on) => {
      for (const part of [from, to, message.type.length, on.now * 1_000])
        hash = (Math.imul(hash, 31) + part) | 0;
      on.post(from, to, message);
    },
    ...options,
  });
  const tasks = workload(cluster, jobs, seed, schedulers);
  cluster.run();
  expect(ended.length, `seed ${seed}`).toBe(jobs);
  expect(ended.every((job) => job.state === 'completed')).toBe(true);
  expect(cluster.workers.reduce((sum, { counters }) => sum + counters.tasksStarted, 0)).toBe(tasks);
  return { cluster, ended, hash };
}

describe.each(POLICY_NAMES)('under %s', (policy) => {
  test('every job of a busy cluster completes, every task runs once', () => {
    for (const seed of ['a', 'b', 'c']) {
      observe({ settings: settingsOf({ policy, preset: { ...PRESETS[policy] } }) }, 150, `${policy}-${seed}`);
    }
  });

  test('the same with several slots per worker and with lazy cancellation', () => {
    const settings = settingsOf({ policy, preset: { ...PRESETS[policy] }, cancel: 'lazy' });
    observe({ settings, slots: 3, workers: 7 }, 150, `${policy}-slots`);
  });

  test('the same seed gives the same messages, another seed others', () => {
    const settings = settingsOf({ policy, preset: { ...PRESETS[policy] } });
    const { hash } = observe({ settings }, 60, 'one');
    expect(observe({ settings }, 60, 'one').hash).toBe(hash);
    expect(observe({ settings }, 60, 'two').hash).not.toBe(hash);
  });
});

test.each(POLICY_NAMES)(
  'under %s a cutoff that is not set is learned from the jobs that complete',
  (policy) => {
    const cutoffs = new Set<number>();
    let notifiedAt = 0;
    const settings = settingsOf({ policy, preset: PRESETS[policy], cutoffMs: 60_000, cutoffJobs: 0 });
    const carry: VirtualClusterOptions['carry'] = (from, to, message, on) => {
      on.post(from, to, message);
      if (message.type !== 'welcome') return;
      const { cutoffMs } = message.settings.policy;
      if (cutoffs.has(cutoffMs)) return;
      cutoffs.add(cutoffMs);
      notifiedAt = on.now;
    };
    const { ended } = observe({ settings, carry }, 400, `learned-${policy}`);
    const [first, learned, ...more] = cutoffs;
    expect([first, more.length]).toEqual([60_000, 0]);
    // The value lies between short tasks, of at most 150 ms, and long tasks, of at least 2.5 s.
    expect(learned).toBeGreaterThan(300);
    expect(learned).toBeLessThan(2_500);
    const late = ended.filter(({ times }) => times.eligibleAt > notifiedAt + 1_000);
    // Under split, jobs misclassified as short wait in a sixth of the cluster until after the last arrival.
    if (policy !== 'split') expect(late.length).toBeGreaterThan(50);
    for (const { class: was, estimate } of late)
      expect(was).toBe(estimate.meanMs! > 1_000 ? 'long' : 'short');
  },
);

test.each([
  ['central', { ...NOTHING_ABLATED, central: false }],
  ['partition', { ...NOTHING_ABLATED, partition: false }],
  ['stealing', { ...NOTHING_ABLATED, stealing: false }],
])('Hawk without %s still completes every job', (_part, keep) => {
  observe({ settings: settingsOf({ preset: ablate(PRESETS.hawk, keep) }) }, 150, 'ablation');
});

test('no long task runs in the short partition, and short ones run everywhere', () => {
  const shortWorkers = new Set<Address>();
  const { ended } = observe(
    {
      settings: settingsOf(),
      carry: (from, to, message, on) => {
        on.post(from, to, message);
        if (message.type !== 'members') return;
        for (const member of message.changed)
          if (member.partition === 'short') shortWorkers.add(member.address);
      },
    },
    300,
    'partition',
  );
  expect(shortWorkers.size).toBe(3); // 17% of 20 workers
  const usedBy = (jobClass: string) =>
    new Set(ended.filter((job) => job.class === jobClass).flatMap(workersOf));
  expect([...usedBy('long')].filter((worker) => shortWorkers.has(worker))).toEqual([]);
  expect(usedBy('short').size).toBe(20);
});

test('idle workers steal short probes that wait behind long tasks', () => {
  const run = (stealing: boolean) => {
    const settings = settingsOf({ preset: ablate(PRESETS.hawk, { ...NOTHING_ABLATED, stealing }) });
    const { ended, cluster } = observe({ settings }, 300, 'steal');
    const runtimes = ended
      .filter((job) => job.class === 'short')
      .map((job) => job.times.endedAt! - job.acceptedAt);
    return { mean: runtimes.reduce((a, b) => a + b, 0) / runtimes.length, cluster };
  };
  const withStealing = run(true);
  const moved = withStealing.cluster.workers.reduce((sum, worker) => sum + worker.counters.probesMoved, 0);
  expect(moved).toBeGreaterThan(50);
  expect(withStealing.mean).toBeLessThan(run(false).mean * 0.8);
});

test('stages run in order, each when its predecessors have completed', () => {
  const ended: Job[] = [];
  const cluster = new VirtualCluster({
    workers: 10,
    schedulers: 1,
    settings: settingsOf(),
    seed: 'stages',
    checked: true,
    onJobEnd: (job) => ended.push(job),
  });
  cluster.submitAt(
    5,
    0,
    parseJobSpec({
      stages: [
        { name: 'load', tasks: { count: 4, run: { sleep: 50 } } },
        { name: 'left', after: ['load'], tasks: { count: 3, run: { sleep: 20 } } },
        { name: 'right', after: ['load'], tasks: { count: 30, run: { sleep: 10 } } },
        { name: 'join', after: ['left', 'right'], tasks: [{ sleep: 5 }] },
      ],
    }),
  );
  cluster.run();
  const job = ended[0]!;
  expect(job.state).toBe('completed');
  const start = (task: number) => job.tasks.startedAtOf(task);
  const end = (task: number) => start(task) + job.tasks.runMsOf(task);
  const tasksOf = (stage: number) =>
    Array.from({ length: job.stages[stage]!.count }, (_, i) => job.stages[stage]!.first + i);
  for (const [before, after] of [
    [0, 1],
    [0, 2],
    [1, 3],
    [2, 3],
  ] as const) {
    expect(Math.max(...tasksOf(before).map(end))).toBeLessThanOrEqual(Math.min(...tasksOf(after).map(start)));
  }
});

test('a job never runs more tasks at a time than its limit', () => {
  const ended: Job[] = [];
  const cluster = new VirtualCluster({
    workers: 20,
    schedulers: 1,
    settings: settingsOf(),
    seed: 'limit',
    checked: true,
    onJobEnd: (job) => ended.push(job),
  });
  cluster.submitAt(5, 0, parseJobSpec({ tasks: { count: 40, run: { sleep: 10 } }, maxRunning: 3 }));
  cluster.run();
  const job = ended[0]!;
  expect(job.state).toBe('completed');
  for (let task = 0; task < job.taskCount; task++) {
    const at = job.tasks.startedAtOf(task);
    let together = 0;
    for (let other = 0; other < job.taskCount; other++) {
      if (job.tasks.startedAtOf(other) <= at && at < job.tasks.startedAtOf(other) + job.tasks.runMsOf(other))
        together++;
    }
    expect(together).toBeLessThanOrEqual(3);
  }
});

test('tasks run only where their demands fit', () => {
  const ended: Job[] = [];
  const cluster = new VirtualCluster({
    workers: 5,
    slots: 4,
    schedulers: 2,
    capacity: { cpu: 4, memory: 10 },
    settings: settingsOf({ policy: 'sparrow', preset: { ...PRESETS.sparrow } }),
    seed: 'demand',
    checked: true, // Slots.checkInvariants: usage never exceeds the capacity
    onJobEnd: (job) => ended.push(job),
  });
  const random = Random.seeded('demand');
  for (let i = 0; i < 60; i++) {
    const memory = 1 + Math.floor(random.next() * 10);
    cluster.submitAt(
      5 + i,
      i % 2,
      parseJobSpec({ tasks: { count: 5, run: { sleep: 20 } }, demand: { memory } }),
    );
  }
  cluster.run();
  expect(ended.filter((job) => job.state === 'completed').length).toBe(60);
  expect(new Set(ended.flatMap(workersOf)).size).toBe(5);
});

describe('with leases and retries', () => {
  const settings = settingsOf({}, LIVE_TIMINGS);

  test('tasks that ran or waited on a lost worker run again elsewhere', () => {
    for (const seed of ['1', '2', '3']) {
      const ended: Job[] = [];
      const cluster = new VirtualCluster({
        workers: 20,
        schedulers: 3,
        settings,
        seed,
        checked: true,
        onJobEnd: (job) => ended.push(job),
      });
      workload(cluster, 200, seed, 3);
      for (let i = 0; i < 5; i++)
        cluster.at(1_000 + 700 * i, () => cluster.kill(cluster.workerAddresses[i * 3]!));
      cluster.run(120_000);
      expect(ended.length, `seed ${seed}`).toBe(200);
      expect(ended.every((job) => job.state === 'completed')).toBe(true);
      expect(ended.some((job) => job.history.lostCount > 0)).toBe(true);
    }
  });

  test('cancelling a job ends waiting tasks immediately and kills running ones', () => {
    const ended: Job[] = [];
    const cluster = new VirtualCluster({
      workers: 4,
      schedulers: 1,
      settings,
      seed: 'cancel',
      checked: true,
      onJobEnd: (job) => ended.push(job),
    });
    cluster.at(500, (now) => {
      const short = cluster.schedulers[0]!.submit(sleeps(new Array<number>(10).fill(900)), 'short', now);
      const long = cluster.schedulers[0]!.submit(sleeps(new Array<number>(10).fill(5_000)), 'long', now);
      cluster.at(1_000, (later) => {
        cluster.schedulers[0]!.cancel(short, later);
        cluster.schedulers[0]!.cancel(long, later);
      });
    });
    cluster.run(1_010);
    expect(ended.map((job) => job.state)).toEqual(['cancelled', 'cancelled']);
    expect(ended.every((job) => job.tasks.states.every((state) => state === TaskState.cancelled))).toBe(true);
    // The workers are free again: another job runs immediately.
    cluster.submitAt(2_000, 0, sleeps([10, 10, 10, 10]));
    cluster.run(2_050);
    expect(ended.length).toBe(3);
  });

  test('a draining worker returns queued tasks and finishes running ones', () => {
    const ended: Job[] = [];
    const cluster = new VirtualCluster({
      workers: 6,
      schedulers: 2,
      settings,
      seed: 'drain',
      checked: true,
      onJobEnd: (job) => ended.push(job),
    });
    workload(cluster, 100, 'drain', 2);
    cluster.at(600, (now) => cluster.atWorker(2, (worker) => worker.drain(now)));
    cluster.at(900, (now) => cluster.atWorker(4, (worker) => worker.drain(now)));
    cluster.run(200_000);
    expect(ended.length).toBe(100);
    expect(ended.every((job) => job.state === 'completed' && job.history.lostCount === 0)).toBe(true);
    expect(cluster.workers[2]!.isIdle && cluster.workers[4]!.isIdle).toBe(true);
  });

  test('a task that runs too long is killed and retried as often as the job allows', () => {
    const ended: Job[] = [];
    const cluster = new VirtualCluster({
      workers: 4,
      schedulers: 1,
      settings,
      seed: 'timeout',
      checked: true,
      onJobEnd: (job) => ended.push(job),
    });
    cluster.submitAt(
      500,
      0,
      parseJobSpec({ tasks: [{ sleep: 50 }, { sleep: 5_000 }], timeout: 200, retries: 2 }),
    );
    cluster.run(5_000);
    const job = ended[0]!;
    expect(job.state).toBe('failed');
    expect([...job.tasks.states]).toEqual([TaskState.completed, TaskState.failed]);
    expect([0, 1].map((task) => job.tasks.attemptOf(task))).toEqual([1, 3]);
    expect(job.history.reports.errorOf(1, undefined)?.outcome.kind).toBe('timeout');
    expect(job.times.endedAt! - job.acceptedAt).toBeLessThan(700);
  });
});

describe('machines of the caller', () => {
  function setUp(carry?: VirtualClusterOptions['carry']) {
    const network = { kind: 'constant', delayMs: 1 } as const;
    const options = { workers: 0, schedulers: 0, settings: settingsOf(), seed: 1, network };
    const cluster = new VirtualCluster(carry === undefined ? options : { ...options, carry });
    const seen: string[] = [];
    const add = (name: string) => {
      let environment: Environment | undefined;
      const address = cluster.add(name, (_self, given) => {
        environment = given;
        return {
          start: (now) => seen.push(`${now} ${name} starts`),
          receive: (from, { type }, now) => seen.push(`${now} ${name} ${type} from ${cluster.nameOf(from)}`),
          wake: (timer, key, now) => seen.push(`${now} ${name} ${timer}/${key}`),
          checkInvariants() {},
        };
      });
      return { address, environment: environment! };
    };
    return { cluster, seen, add };
  }

  test('join while it runs, and events at one time run in order of insertion', () => {
    const { cluster, seen, add } = setUp();
    const one = add('one');
    cluster.run(10);
    const two = add('two');
    one.environment.setTimer('before', 0, 11);
    one.environment.send(two.address, { type: 'resync' });
    one.environment.setTimer('after', 0, 11);
    two.environment.send(one.address, { type: 'leave' });
    cluster.at(11, (now) => seen.push(`${now} a call`));
    cluster.run(20);
    expect(seen).toEqual([
      '0 one starts',
      '10 two starts',
      '11 one before/0',
      '11 two resync from one',
      '11 one after/0',
      '11 one leave from two',
      '11 a call',
    ]);
  });

  test('exchange messages through a custom transport', () => {
    const carried: string[] = [];
    const { cluster, seen, add } = setUp((from, to, { type }) => carried.push(`${type} ${from} ${to}`));
    const one = add('one');
    const two = add('two');
    one.environment.send(two.address, { type: 'resync' });
    cluster.run(10);
    expect(carried).toEqual([`resync ${one.address} ${two.address}`]);
    expect(seen).toEqual(['0 one starts', '0 two starts']);
    cluster.post(one.address, two.address, { type: 'resync' });
    cluster.run(20);
    expect(seen.at(-1)).toBe('11 two resync from one');
  });

  test('a call for a past time runs now, and time does not go back', () => {
    const { cluster, seen } = setUp();
    cluster.run(10);
    cluster.at(5, (now) => seen.push(`${now} a call`));
    cluster.run(10);
    expect(seen).toEqual(['10 a call']);
    expect(cluster.now).toBe(10);
  });
});

test('a job of a running task uses its CPU on a full cluster, and moves neither its end nor its time limit', () => {
  const ended = new Map<string, number>();
  const cluster = new VirtualCluster({
    ...{ workers: 1, schedulers: 2, seed: 'children', checked: true },
    settings: settingsOf({ policy: 'goshawk', preset: PRESETS.goshawk, estimator: 'given', reserve: 0 }),
    onJobEnd: (job, now) => ended.set(job.spec.name, now),
  });
  const jobOf = (name: string, sleep: number, more: object) =>
    parseJobSpec({ name, tasks: [{ sleep }], estimate: sleep, user: 'ann', ...more });
  const submit = (at: number, via: number, name: string, sleep: number, match: number, more = {}): void => {
    cluster.at(at, (now) => {
      const job = cluster.schedulers[via]!.submit(jobOf(name, sleep, more), undefined, now);
      const parent = { job: job.id, task: 0, worker: 'w0', match };
      // The child belongs to the other scheduler.
      if (match === 1) submit(at + 100, 1 - via, 'child', sleep - 1_000, 2, { parent });
    });
  };
  submit(100, 0, 'parent', 5_000, 1, { timeout: 6_000 });
  cluster.run(60_000);
  expect([...ended.keys()]).toEqual(['child', 'parent']);
  const ran = [...ended.values()].map((at, index) => at - [200, 100][index]!);
  for (const [index, ms] of [4_000, 5_000].entries()) expect(ran[index]! - ms).toBeLessThan(50);
});
