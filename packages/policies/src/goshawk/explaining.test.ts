import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { BookedStage } from '../books/entries.js';
import type { PolicyExplanation, WorkerView } from '../contract.js';
import { OWNER, PolicyBench } from '../testing.fixture.js';

const SEEDS = 500;
const NAMES = ['cpu', 'gpu', 'memory'] as const;

/** A small cluster with running and waiting tasks, as after some time of use. */
function drawn(seed: number): PolicyBench {
  const random = Random.seeded(`why ${seed}`);
  const int = (from: number, to: number): number => from + Math.floor(random.next() * (to - from + 1));
  const chance = (part: number): boolean => random.next() < part;
  const reserve = chance(0.5) ? 0 : 0.3;
  const bench = new PolicyBench('goshawk', 0, { context: { cutoffMs: 1_000, reserve } });
  const workers = int(1, 4);
  for (let at = 0; at < workers; at++) {
    const capacity = { cpu: int(1, 4), gpu: int(0, 2), memory: int(1, 8) };
    bench.join(at, int(1, 5), capacity);
  }
  const jobs = int(2, 8);
  for (let job = 1; job <= jobs; job++) {
    const demand = Object.fromEntries(NAMES.filter(() => chance(0.4)).map((name) => [name, int(1, 3)]));
    const estimateMs = int(1, 4_000);
    const gang = chance(0.2);
    const tasks = int(1, 4);
    const booked = bench.books.declare(OWNER, job, {
      arrivedAt: bench.now,
      user: chance(0.3) ? 'ann' : 'ben',
      long: estimateMs >= 1_000,
      preemptible: chance(0.3),
      ...(chance(0.2) ? { deadlineAt: bench.now + int(500, 8_000) } : {}),
      tasks,
    });
    const facts = { demand: bench.books.names.demandOf(demand), estimateMs, tasks, gang };
    bench.books.setWaiting(bench.books.stage(booked, 0, facts), tasks, bench.now);
    bench.settle();
    bench.now += int(0, 3_000);
    bench.settle();
    for (let end = int(0, 2); end > 0 && bench.busy > 0; end--) bench.endAny(int(0, 100));
  }
  bench.take();
  return bench;
}

function waitingIn(bench: PolicyBench): BookedStage[] {
  return [...bench.books.jobs].flatMap(({ stages }) => [...stages].filter(({ waiting }) => waiting > 0));
}

/** Whether a task of the job has started since the last call. */
function hasStarted(bench: PolicyBench, job: number): boolean {
  return bench.take().includes(job);
}

function withdrawOthers(bench: PolicyBench, job: number): void {
  for (const stage of waitingIn(bench))
    if (stage.job.number !== job) bench.books.withdraw(stage.job, bench.now);
  bench.settle();
}

/** Adds this many workers of the given capacity. */
function join(bench: PolicyBench, count: number, capacity: readonly number[]): void {
  for (let at = 0; at < count; at++) {
    const address = 1_000 + [...bench.books.workers].length;
    bench.books.setOpen(bench.books.addWorker(address as never, [...capacity]), true);
  }
}

function lift(bench: PolicyBench, stage: BookedStage, { sentence }: PolicyExplanation): void {
  const named = /^no worker has (.*\)|a place for another task) free(?:, and |; |$)/
    .exec(sentence)?.[1]
    ?.split(' and ')
    .map((part) => (part.startsWith('a place') ? 'slot' : part.split(' ')[0]!));
  const workers: WorkerView[] = [...bench.books.workers];
  const { demand, waiting } = stage;
  if (named === undefined) join(bench, waiting, demand);
  else
    for (const { free, capacity } of workers) {
      if (demand.some((amount, index) => amount > (capacity[index] ?? 0))) continue;
      const amounts = bench.books.names.names.map((name, index) =>
        // A new worker with free CPUs has places for tasks.
        named.includes(name) || (name === 'slot' && named.includes('cpu'))
          ? (demand[index] ?? 0)
          : (free[index] ?? 0),
      );
      join(bench, 1, amounts);
    }
  bench.settle();
}

function endLong(bench: PolicyBench): void {
  const isOver = (): boolean => {
    const { longRunning, longLimit } = bench.policy.line!(bench.now);
    return longRunning < longLimit;
  };
  for (const { runs } of [...bench.books.workers])
    for (const run of [...runs]) {
      if (isOver()) return;
      if (!run.stage.job.long) continue;
      bench.books.end(run, 'done', bench.now);
      bench.settle();
    }
}

test(`the stated cause is what prevents a stage from starting, in ${SEEDS} clusters`, () => {
  const seen: Record<string, number> = {};
  for (let seed = 1; seed <= SEEDS; seed++) {
    const places = waitingIn(drawn(seed)).length;
    for (let place = 0; place < places; place++) {
      const bench = drawn(seed);
      const stage = waitingIn(bench)[place]!;
      const { number } = stage.job;
      const why = bench.policy.explain!(stage, bench.books, bench.now);
      const context = `seed ${seed}, job ${number}: ${why?.sentence ?? 'others come first'}`;
      seen[why?.reason ?? 'order'] = (seen[why?.reason ?? 'order'] ?? 0) + 1;
      withdrawOthers(bench, number);
      const startsWithoutOthers = hasStarted(bench, number);
      if (why === undefined || why.reason === 'reserved') {
        if (startsWithoutOthers) continue;
        // If no cause is stated, the resource is one that all tasks use: slots or CPUs.
        expect(why?.reason, context).toBeUndefined();
        join(bench, stage.waiting, stage.demand);
        bench.settle();
        endLong(bench);
      } else {
        expect(startsWithoutOthers, `${context}; it starts without the others`).toBe(false);
        if (why.reason !== 'reserve') lift(bench, stage, why);
        if (why.sentence.includes('long tasks use')) endLong(bench);
      }
      expect(hasStarted(bench, number), context).toBe(true);
    }
  }
  for (const reason of ['order', 'resources', 'reserve', 'reserved'])
    expect(seen[reason], reason).toBeGreaterThan(0);
});

test('a task that failed at the only worker with room waits for another one', () => {
  const bench = new PolicyBench('goshawk', 0);
  for (const address of [0, 1]) bench.join(address, 1, { cpu: 1 });
  bench.need(1, { tasks: 1, estimateMs: 60_000 });
  const free = [...bench.books.workers].filter(({ runs }) => [...runs].length === 0);
  const booked = bench.books.declare(OWNER, 2, { arrivedAt: bench.now, tasks: 1 });
  const stage = bench.books.stage(booked, 0, { demand: bench.books.names.demandOf({ cpu: 1 }), tasks: 1 });
  for (const worker of free) stage.declined(worker, bench.now);
  bench.books.setWaiting(stage, 1, bench.now);
  bench.settle();
  expect(bench.policy.explain!(stage, bench.books, bench.now)).toBeUndefined();
  bench.books.reconsider(stage, bench.now, free);
  bench.settle();
  expect(bench.policy.explain!(stage, bench.books, bench.now)).toMatchObject({
    reason: 'resources',
    sentence: expect.stringMatching(/^it failed at every worker that has room/),
  });
});

test('a gang waits for a reservation that leaves room for only some of its tasks', () => {
  const bench = new PolicyBench('goshawk', 0, { context: { cutoffMs: 1_000, reserve: 0 } });
  bench.join(0, 2, { cpu: 2 });
  bench.join(1, 1, { cpu: 1 });
  const submit = (job: number, cpu: number, tasks: number, estimateMs: number, gang: boolean): void => {
    const booked = bench.books.declare(OWNER, job, { arrivedAt: bench.now, tasks });
    const facts = { demand: bench.books.names.demandOf({ cpu }), estimateMs, tasks, gang };
    bench.books.setWaiting(bench.books.stage(booked, 0, facts), tasks, bench.now);
    bench.settle();
  };
  submit(1, 1, 2, 100_000, false);
  submit(2, 2, 1, 1_000, false);
  bench.end(1, 'done', 1);
  bench.now = 90_000;
  submit(3, 1, 2, 50_000, true);
  expect(bench.take()).toEqual([1, 1]);
  const why = bench.policy.explain!(bench.stage(3), bench.books, bench.now);
  expect(why?.sentence).toBe('the free resources are reserved for job 2, which starts within 10 s');
});
