import { type Address, Random, type Vector } from '@goshawk/core';
import type { BookedStage } from '@goshawk/policies';
import { BookedDraft, ClusterBooks, checkBooks } from '@goshawk/policies';
import { describe, expect, test } from 'vitest';
import { PACKING_NAMES, type PackingName } from './packers.js';
import { PACKING_MODULES, type PackingPolicy } from './policy.js';

const SCRIPTS = 100;
const OWNER = 1 as Address;
const CONTEXT = { cutoffMs: 1000, sizesAreGiven: true, reserve: 'auto' as const, random: () => 0 };

/** Books with a policy that plans after each change. */
class Cluster {
  readonly books = new ClusterBooks();
  readonly policy: PackingPolicy;
  now = 0;
  againAt = Number.POSITIVE_INFINITY;
  #jobs = 0;

  constructor(name: PackingName, options: Readonly<Record<string, number | boolean>> = {}) {
    const all = { J: 0, stall: false, decisionIntervalMs: 0, ...options };
    this.policy = PACKING_MODULES[name].make(all, CONTEXT) as PackingPolicy;
    this.books.names.indexOf('cpu');
    this.books.names.indexOf('memory');
  }

  join(address: number, capacity: Vector): void {
    this.books.setOpen(this.books.addWorker(address as Address, capacity), true);
  }

  submit(demand: Vector, tasks = 1): BookedStage {
    const job = this.books.declare(OWNER, this.#jobs++, { arrivedAt: this.now, tasks });
    const stage = this.books.stage(job, 0, { demand, tasks });
    this.books.setWaiting(stage, tasks, this.now);
    return stage;
  }

  /** @returns address of the worker and number of the job of each start */
  turn(): (readonly [worker: number, job: number])[] {
    this.policy.update(this.books.takeChanges());
    const draft = new BookedDraft(this.books, 1, this.now);
    this.policy.plan(this.books, draft, this.now);
    this.againAt = draft.againAt;
    expect(draft.refused).toBe(0);
    checkBooks(this.books);
    this.policy.checkInvariants();
    return draft.started.map(({ worker, stage }) => [worker.address, stage.job.number] as const);
  }

  end(address: number, job: number, how: 'done' | 'declined' = 'done'): void {
    const { runs } = this.books.worker(address as Address)!;
    this.books.end([...runs].find(({ stage }) => stage.job.number === job)!, how, this.now);
  }

  explain(stage: BookedStage): string | undefined {
    return this.policy.explain(stage, this.books)?.sentence;
  }
}

test('a task that a worker declines starts at another one, and there again once the owner repeats its need', () => {
  for (const name of PACKING_NAMES) {
    const cluster = new Cluster(name);
    for (const worker of [10, 11]) cluster.join(worker, [4]);
    cluster.turn();
    const stage = cluster.submit([3]);
    cluster.books.declare(OWNER, 0, { arrivedAt: 0, isDeclared: true });
    const [[first]] = cluster.turn() as [[number, number]];
    const other = 21 - first;
    cluster.end(first, 0, 'declined');
    expect([name, cluster.turn()]).toEqual([name, []]);
    cluster.books.setWaiting(stage, 1, cluster.now);
    expect([name, cluster.turn()]).toEqual([name, [[other, 0]]]);
    cluster.end(other, 0, 'declined');
    cluster.books.setWaiting(stage, 1, cluster.now);
    expect([name, cluster.turn()]).toEqual([name, []]);
    cluster.now += 1_000;
    cluster.books.reconsider(stage, cluster.now);
    expect([name, cluster.turn()]).toEqual([name, [[expect.any(Number), 0]]]);
  }
});

test('a declined task does not keep its worker from other tasks', () => {
  for (const name of PACKING_NAMES) {
    const cluster = new Cluster(name);
    cluster.join(10, [4]);
    cluster.turn();
    const stage = cluster.submit([3]);
    cluster.books.declare(OWNER, 0, { arrivedAt: 0, isDeclared: true });
    cluster.turn();
    cluster.end(10, 0, 'declined');
    cluster.books.setWaiting(stage, 1, cluster.now);
    cluster.submit([3]);
    expect([name, cluster.turn()]).toEqual([name, [[10, 1]]]);
  }
});

test('a worker that the owner avoids is not used, even for a job that is new to the books', () => {
  for (const name of PACKING_NAMES) {
    const cluster = new Cluster(name);
    for (const worker of [10, 11]) cluster.join(worker, [4]);
    cluster.turn();
    for (const avoided of [10, 11]) {
      const { books } = cluster;
      const job = books.declare(OWNER, avoided, { arrivedAt: 0, tasks: 1 });
      const stage = books.stage(job, 0, { demand: [3], tasks: 1 });
      books.reconsider(stage, 0, [books.worker(avoided as Address)!]);
      books.setWaiting(stage, 1, 0);
      expect([name, cluster.turn()]).toEqual([name, [[21 - avoided, avoided]]]);
    }
  }
});

describe('best fit', () => {
  test('of one resource takes the worker with the least room', () => {
    const cluster = new Cluster('bfjs');
    cluster.join(10, [4]);
    cluster.join(11, [2]);
    cluster.turn();
    cluster.submit([1]);
    expect(cluster.turn()).toEqual([[11, 0]]);
  });

  test('of several resources uses the score of Tetris, for workers and for tasks', () => {
    const cluster = new Cluster('bfjs');
    cluster.join(10, [16, 32]);
    cluster.submit([8, 16]);
    cluster.turn();
    // Scores 0.21875 and 0.1875; the one with the smaller sum goes first.
    cluster.submit([2, 8]);
    cluster.submit([6, 2]);
    cluster.books.setOpen(cluster.books.worker(10 as Address)!, false);
    cluster.books.setOpen(cluster.books.worker(10 as Address)!, true);
    expect(cluster.turn()).toEqual([
      [10, 2],
      [10, 1],
    ]);
  });
});

test('among many workers uses one that reports less room than assumed', () => {
  const cluster = new Cluster('bfjs');
  for (let worker = 0; worker < 200; worker++) cluster.join(10 + worker, [4]);
  cluster.turn();
  cluster.books.setFree(cluster.books.worker(160 as Address)!, [2]);
  cluster.submit([1]);
  expect(cluster.turn()).toEqual([[160, 0]]);
});

test('a declined task keeps its position', () => {
  const cluster = new Cluster('fifo-ff');
  cluster.join(10, [1]);
  const first = cluster.submit([1]);
  cluster.turn();
  cluster.submit([1]);
  cluster.turn();
  cluster.books.declare(OWNER, 0, { arrivedAt: 0, isDeclared: true });
  cluster.end(10, 0, 'declined');
  cluster.now += 1_000;
  cluster.books.reconsider(first, cluster.now);
  cluster.books.setWaiting(first, 1, cluster.now);
  expect(cluster.turn()).toEqual([[10, 0]]);
});

test('a worker that joins is used immediately, whatever its capacity; one that left is not', () => {
  for (const name of PACKING_NAMES) {
    const cluster = new Cluster(name);
    cluster.submit([1, 3000], 3);
    expect(cluster.turn()).toEqual([]);
    cluster.join(10, [4, 4000]);
    expect(cluster.turn()).toEqual([[10, 0]]);
    cluster.join(11, [4, 7000]);
    expect(cluster.turn()).toEqual([
      [11, 0],
      [11, 0],
    ]);
    cluster.books.removeWorker(cluster.books.worker(10 as Address)!, cluster.now);
    cluster.submit([1, 1000]);
    for (const [worker] of cluster.turn()) expect(worker).toBe(11);
  }
});

test('seven tasks that each request a seventh fill a worker', () => {
  for (const name of PACKING_NAMES) {
    const cluster = new Cluster(name);
    cluster.join(10, [7]);
    cluster.turn();
    cluster.submit([1], 8);
    expect(cluster.turn()).toHaveLength(7);
  }
});

test("under VQS a task's room is free when it ends, even if the next task waits for another kind of worker", () => {
  const cluster = new Cluster('vqs');
  cluster.submit([1, 4000], 3);
  const stage = cluster.submit([1, 4000], 5);
  cluster.turn();
  cluster.books.setWaiting(stage, 6, cluster.now);
  cluster.turn();
  // Half of the one, four fifths of the other.
  cluster.join(10, [8, 8000]);
  cluster.join(11, [8, 5000]);
  for (let turn = 0; turn < 9; turn++) {
    cluster.turn();
    for (const { runs } of cluster.books.workers)
      for (const run of [...runs]) cluster.books.end(run, 'done', cluster.now);
  }
  expect(cluster.books.waitingTasks).toBe(0);
});

test("under VQS running tasks count with their size relative to their worker's kind, whichever kind similar tasks wait for now", () => {
  const cluster = new Cluster('vqs');
  cluster.join(10, [8, 8000]);
  cluster.join(11, [8, 5000]);
  cluster.submit([1, 4000]);
  expect(cluster.turn()).toEqual([[10, 0]]);
  cluster.submit([1, 4000], 3);
  expect(cluster.turn()).toEqual([[10, 1]]);
  cluster.join(12, [8, 3000]);
  cluster.turn();
  cluster.end(10, 1);
  expect(cluster.turn()).toEqual([[10, 1]]);
});

test('decisions are made at multiples of the interval', () => {
  const cluster = new Cluster('bfjs', { decisionIntervalMs: 100 });
  cluster.join(10, [2]);
  cluster.now = 130;
  cluster.submit([1]);
  expect([cluster.turn(), cluster.againAt]).toEqual([[], 200]);
  cluster.now = 200;
  expect(cluster.turn()).toHaveLength(1);
});

test('explains what a task waits for', () => {
  const sentences = PACKING_NAMES.map((name) => {
    const cluster = new Cluster(name);
    cluster.join(10, [4, 4000]);
    cluster.submit([1, 3000]);
    cluster.turn();
    cluster.submit([1, 2000]);
    const stage = cluster.submit([1, 2000], 2);
    cluster.turn();
    return cluster.explain(stage);
  });
  expect(sentences).toEqual([
    'first come, first served: job 1 is first and needs cpu 2, which no worker has free',
    'each task needs cpu 2; the largest free amount at a worker is cpu 1',
    '3 tasks of more than 1/3, at most 1/2 of a worker wait for a worker configured for that size; 0 are, and are full; an empty worker chooses a new configuration',
    'each task needs cpu 2; the largest free amount at a worker is cpu 1',
  ]);
  const cluster = new Cluster('bfjs');
  cluster.join(10, [4, 4000]);
  const stage = cluster.submit([1, 5000]);
  cluster.turn();
  expect(cluster.explain(stage)).toBe('each task needs cpu 5: more than any worker has');
});

const CAPACITIES: readonly Vector[] = [
  [8, 4000, 8000],
  [8, 4000, 8000],
  [4, 2000, 4000],
  [7, 3000, 9000],
  [3],
];

/** Workers join, drain and leave; tasks arrive, end, are declined and are withdrawn. */
function change(cluster: Cluster, random: Random): void {
  const { books } = cluster;
  const draw = (count: number) => Math.floor(random.next() * count);
  for (const worker of [...books.workers]) {
    for (const run of [...worker.runs]) {
      const luck = draw(12);
      if (luck > 2) continue;
      books.end(run, luck === 0 ? 'declined' : 'done', cluster.now);
      const { stage } = run;
      if (luck === 0 && books.job(OWNER, stage.job.number) === stage.job) {
        books.setWaiting(stage, stage.waiting + 1, cluster.now);
      }
    }
    if (draw(20) === 0) books.setOpen(worker, !worker.open);
    else if (draw(30) === 0) books.removeWorker(worker, cluster.now);
  }
  const address = 10 + draw(5);
  if (draw(3) === 0 && books.worker(address as Address) === undefined) {
    cluster.join(address, CAPACITIES[draw(CAPACITIES.length)]!);
  }
  for (const job of [...books.jobs]) if (draw(25) === 0) books.withdraw(job, cluster.now);
  for (let jobs = draw(3); jobs > 0; jobs--) {
    const demand = [1, 250 * draw(10), 500 * draw(12)].slice(0, 1 + draw(3));
    cluster.submit(demand, 1 + draw(4));
  }
}

function fitting({ books }: Cluster): string[] {
  return [...books.jobs].flatMap(({ stages }) =>
    stages.flatMap((stage) =>
      [...books.workers].flatMap((worker) =>
        books.canStart(stage, worker) && stage.declinedBy?.has(worker) !== true
          ? [`${stage.demand} fits ${worker.free}`]
          : [],
      ),
    ),
  );
}

test.each(PACKING_NAMES)(
  `%s keeps its books, and best fit leaves no room that a task fits, in ${SCRIPTS} scripts`,
  (name) => {
    for (let seed = 0; seed < SCRIPTS; seed++) {
      const random = Random.seeded(`${name} ${seed}`);
      const cluster = new Cluster(name);
      for (cluster.now = 0; cluster.now < 25; cluster.now++) {
        try {
          change(cluster, random);
          cluster.turn();
          if (name === 'bfjs' || name === 'vqs-bf') expect(fitting(cluster)).toEqual([]);
        } catch (error) {
          throw new Error(`seed "${name} ${seed}", turn ${cluster.now}: ${(error as Error).message}`, {
            cause: error,
          });
        }
      }
    }
  },
);
