import { expect, test } from 'vitest';
import { type DrawnJobs, drawJobs, meanSize, type PackingJob, runPacking } from './model.js';
import { NaivePacking, WHOLE } from './naive.fixture.js';
import { PACKING_NAMES, type PackingName } from './packers.js';
import { CAPACITY } from './partition.js';

/** Setup A: one server, with sizes that pair up. */
const A: Omit<DrawnJobs, 'seed'> = {
  sizes: { kind: 'values', values: [0.4, 0.6], weights: [1, 1] },
  arrivals: 'poisson',
  rate: 0.014,
  service: 'geometric',
  slots: 100,
};

/** Setup B: best fit is stuck in two of 2 and one of 5 of 10. */
const B: Omit<DrawnJobs, 'seed'> = {
  sizes: { kind: 'values', values: [0.2, 0.5], weights: [2, 1] },
  arrivals: 'poisson',
  rate: 0.0306,
  service: 'fixed',
  slots: 100,
};

const run = (policy: PackingName, j: number, jobs: Omit<DrawnJobs, 'seed'>, until: number, seed = 1) =>
  runPacking({ policy, j, servers: 1, jobs: drawJobs({ ...jobs, seed }), until });

test('setup A: VQS grows by 0.0006 per slot, best fit does not', () => {
  expect(run('vqs', 2, A, 4e6).growth).toBeCloseTo(0.0006, 4);
  for (const policy of ['bfjs', 'vqs-bf'] as const)
    expect(Math.max(...run(policy, 2, A, 4e6).queues)).toBeLessThan(50);
});

test('setup A at 0.017: VQS and FIFO-FF grow as computed', () => {
  const faster = { ...A, rate: 0.017 };
  expect(run('vqs', 2, faster, 2e6).growth).toBeCloseTo(0.0033, 3);
  expect(run('fifo-ff', 2, faster, 2e6).growth).toBeCloseTo(0.001, 3);
});

test('setup B: best fit is stuck and grows by 0.0006 per slot, VQS does not', () => {
  expect(run('bfjs', 3, B, 6e6).growth).toBeCloseTo(0.0006, 4);
  expect(Math.max(...run('vqs', 3, B, 6e6).queues)).toBeLessThan(50);
});

test.each(['poisson', 'bernoulli', 'continuous'] as const)(
  '%s arrivals have the rate and the means asked for',
  (arrivals) => {
    for (const service of ['geometric', 'fixed', 'exponential'] as const) {
      const sizes = { kind: 'uniform', low: 0.1, high: 0.9 } as const;
      const jobs = drawJobs({ sizes, arrivals, rate: 0.4, service, slots: 20, seed: 7 });
      let [last, units, slots] = [0, 0, 0];
      const count = 40_000;
      for (let job = 0; job < count; job++) {
        const { at, size, duration } = jobs.next().value!;
        [last, units, slots] = [at, units + size, slots + duration];
      }
      expect(count / last).toBeCloseTo(0.4, 1);
      expect(units / count / 19_200_000).toBeCloseTo(meanSize(sizes), 2);
      expect(slots / count / 20).toBeCloseTo(1, 1);
    }
  },
);

test('the queue is sampled at the end of each window, including the last, however times are rounded', () => {
  for (const until of [20e6 * (2_000 / 612_000), 1e6 / 3, 0.7e6]) {
    const jobs = drawJobs({ ...A, seed: 1 });
    const { queues } = runPacking({ policy: 'bfjs', j: 2, servers: 1, jobs, until, windows: 20 });
    expect(queues).toHaveLength(20);
  }
});

/** The model implemented literally, slot by slot: departures, arrivals, placement, then a sample of the queue. */
function meanBySlots(
  policy: PackingName,
  j: number,
  jobs: readonly PackingJob[],
  from: number,
  until: number,
) {
  const naive = new NaivePacking(policy, j, 3);
  const endsAt = new Map<number, number>();
  let area = 0;
  for (let slot = 0; slot < until; slot++) {
    for (const { jobs: running } of naive.servers)
      for (const { id } of [...running]) if (endsAt.get(id) === slot) naive.depart(id);
    for (const [id, { at, size }] of jobs.entries())
      if (at === slot) naive.arrive({ id, size: (BigInt(size) * WHOLE) / BigInt(CAPACITY) });
    naive.run();
    for (const [id] of naive.placed) endsAt.set(id, slot + jobs[id]!.duration);
    if (slot >= from) area += naive.queue.length;
  }
  return area / (until - from);
}

test.each(PACKING_NAMES)('%s gives the same waits simulated by event as by slot', (policy) => {
  const [from, until, j] = [100, 600, 4];
  for (const [low, high] of [
    [0.1, 0.9],
    [0.01, 0.19],
  ] as const) {
    const sizes = { kind: 'uniform', low, high } as const;
    const rate = (0.95 * 3) / 20 / meanSize(sizes);
    const drawn = drawJobs({ sizes, arrivals: 'poisson', rate, service: 'geometric', slots: 20, seed: 5 });
    const units = CAPACITY / Number(WHOLE);
    const jobs: PackingJob[] = [];
    for (let job = drawn.next().value!; job.at < until; job = drawn.next().value!)
      jobs.push({ ...job, size: Math.ceil(job.size / units) * units });
    const { meanQueue } = runPacking({
      policy,
      j,
      servers: 3,
      jobs: jobs.values(),
      from,
      until: until - 1e-9,
    });
    expect(meanQueue).toBeGreaterThan(0);
    expect(meanQueue).toBeCloseTo(meanBySlots(policy, j, jobs, from, until), 6);
  }
});
