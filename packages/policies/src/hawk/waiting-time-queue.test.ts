import { type Address, type Millis, NO_RESOURCES, type Resources } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClusterBooks } from '../books/books.js';
import type { BookedRun } from '../books/entries.js';
import { WaitingTimeQueue } from './waiting-time-queue.js';

const OWNER = 1 as Address;
const [W1, W2, W3] = [11, 12, 13] as [Address, Address, Address];

interface PlacedTask {
  readonly task: number;
  readonly estimateMs: Millis;
  readonly demand: Resources;
}

function taskOf(task: number, estimateMs: Millis, demand: Resources = NO_RESOURCES): PlacedTask {
  return { task, estimateMs, demand };
}

/** The queue and the books of one cluster, kept in sync. */
class Placing {
  readonly queue = new WaitingTimeQueue();
  readonly books = new ClusterBooks();
  readonly #runs = new Map<number, BookedRun>();

  join(address: Address, slots: number, capacity: Resources = NO_RESOURCES): void {
    const worker = this.books.addWorker(address, this.books.names.capacityOf(slots, capacity));
    this.books.setOpen(worker, true);
    this.queue.setOpen(worker, true, 0);
  }

  setOpen(address: Address, open: boolean, now: Millis): void {
    const worker = this.books.worker(address)!;
    this.books.setOpen(worker, open);
    this.queue.setOpen(worker, open, now);
  }

  leave(address: Address, now: Millis): void {
    const worker = this.books.worker(address)!;
    this.books.removeWorker(worker, now);
    this.queue.removeWorker(worker);
  }

  /** @returns the worker to which the task was assigned */
  place({ task, estimateMs, demand }: PlacedTask, now: Millis): Address | undefined {
    const job = this.books.declare(OWNER, task, { arrivedAt: now, long: true });
    const stage = this.books.stage(job, 0, { demand: this.books.names.demandOf(demand), estimateMs });
    this.books.nameWaiting(stage, { task, attempt: 1 }, now);
    const server = this.queue.shortestWait(stage, now);
    const run = server && this.books.place(stage, server.worker as never, now);
    if (run === undefined) return undefined;
    this.queue.put(run, server!, estimateMs, now);
    this.#runs.set(task, run);
    return run.worker.address;
  }

  /** @returns false if every slot of its worker runs something */
  started(task: number, now: Millis): boolean {
    const run = this.#runs.get(task)!;
    this.books.begin(run, now);
    if (!run.isQueued) this.queue.started(run, now);
    return !run.isQueued;
  }

  ended(task: number, now: Millis): void {
    const run = this.#runs.get(task)!;
    this.books.end(run, 'done', now);
    this.queue.ended(run, now);
  }

  waitingMs(address: Address, now: Millis): Millis {
    return this.queue.waitingMs(this.books.worker(address)!, now);
  }
}

function queueOf(...workers: Address[]): Placing {
  const placing = new Placing();
  for (const worker of workers) placing.join(worker, 1);
  return placing;
}

describe('the waiting-time queue', () => {
  test('gives each task to the worker with the lowest waiting time, counting earlier placements', () => {
    const queue = queueOf(W1, W2);
    const placed = [50, 10, 10, 10, 10, 10].map((ms, i) => queue.place(taskOf(i, ms), 0));
    expect(placed).toEqual([W1, W2, W2, W2, W2, W2]);
    expect(queue.waitingMs(W1, 0)).toBe(50);
    // The waiting times are equal now, so the lower number comes first.
    expect(queue.place(taskOf(6, 10), 0)).toBe(W1);
  });

  test('prefers a worker without long tasks to one whose only task is overdue', () => {
    const queue = queueOf(W1, W2, W3);
    queue.place(taskOf(0, 100), 0);
    queue.started(0, 0);
    queue.place(taskOf(1, 100), 0);
    expect(queue.waitingMs(W1, 200)).toBe(0);
    expect(queue.place(taskOf(2, 100), 200)).toBe(W3);
    // No worker is empty; a remaining time of 0 is less than 100.
    expect(queue.place(taskOf(3, 100), 200)).toBe(W1);
  });

  test('lets the waiting time of a running task shrink to 0, and no further', () => {
    const queue = queueOf(W1);
    queue.place(taskOf(0, 100), 0);
    queue.place(taskOf(1, 30), 0);
    queue.started(0, 10);
    expect([10, 60, 110, 500].map((now) => queue.waitingMs(W1, now))).toEqual([130, 80, 30, 30]);
  });

  test('places nothing if no worker is open or large enough', () => {
    const queue = queueOf(W1);
    expect(queue.place(taskOf(0, 1, { memory: 1 }), 0)).toBeUndefined();
    queue.setOpen(W1, false, 0);
    expect(queue.place(taskOf(1, 1), 0)).toBeUndefined();
    queue.setOpen(W1, true, 0);
    expect(queue.place(taskOf(1, 1), 0)).toBe(W1);
  });

  test('a resource named like a built-in object property does not exist by default', () => {
    const queue = queueOf(W1);
    expect(queue.place(taskOf(0, 1, { constructor: 1 }), 0)).toBeUndefined();
  });
});

interface ModelServer {
  readonly id: number;
  readonly worker: number;
  open: boolean;
  queued: PlacedTask[];
  running: { task: PlacedTask; startedAt: Millis } | undefined;
}

/** A reference model without indexes: every decision computes all waiting times. */
class Model {
  servers: ModelServer[] = [];
  #nextId = 0;
  readonly #freeIds: number[] = [];

  add(worker: number, slots: number): void {
    for (let i = 0; i < slots; i++) {
      const id = this.#freeIds.pop() ?? this.#nextId++;
      this.servers.push({ id, worker, open: true, queued: [], running: undefined });
    }
  }

  remove(worker: number): void {
    this.#freeIds.push(...this.of(worker).map(({ id }) => id));
    this.servers = this.servers.filter((server) => server.worker !== worker);
  }

  of(worker: number): ModelServer[] {
    return this.servers.filter((server) => server.worker === worker);
  }

  tasks(): PlacedTask[] {
    return this.servers.flatMap(({ queued, running }) => (running ? [running.task, ...queued] : queued));
  }

  /** Remaining time of the running task; 0 without one, or if it is overdue. */
  #remaining({ running }: ModelServer, now: Millis): Millis {
    return running === undefined ? 0 : Math.max(0, running.startedAt + running.task.estimateMs - now);
  }

  waiting(server: ModelServer, now: Millis): Millis {
    return server.queued.reduce((sum, task) => sum + task.estimateMs, 0) + this.#remaining(server, now);
  }

  place(task: PlacedTask, now: Millis): number | undefined {
    const isEmpty = ({ running, queued }: ModelServer) => running === undefined && queued.length === 0;
    const open = this.servers.filter((server) => server.open);
    const [best] = open.sort(
      (one, other) =>
        Number(isEmpty(other)) - Number(isEmpty(one)) ||
        this.waiting(one, now) - this.waiting(other, now) ||
        // Ties go to servers whose waiting time does not shrink, then to the lowest number.
        Number(this.#remaining(one, now) > 0) - Number(this.#remaining(other, now) > 0) ||
        one.id - other.id,
    );
    best?.queued.push(task);
    return best?.worker;
  }

  start(task: PlacedTask, now: Millis): void {
    const from = this.servers.find(({ queued }) => queued.includes(task))!;
    from.queued = from.queued.filter((other) => other !== task);
    const siblings = this.of(from.worker);
    const to = from.running === undefined ? from : siblings.find((server) => server.running === undefined)!;
    to.running = { task, startedAt: now };
    if (to !== from) this.#balance(siblings);
  }

  end(task: PlacedTask): void {
    const server = this.servers.find(
      ({ queued, running }) => running?.task === task || queued.includes(task),
    )!;
    if (server.running?.task === task) server.running = undefined;
    server.queued = server.queued.filter((other) => other !== task);
    this.#balance(this.of(server.worker));
  }

  /** Slots of a worker share one queue: no task waits at one slot while another is idle. */
  #balance(servers: readonly ModelServer[]): void {
    for (;;) {
      const idle = servers.find(({ running, queued }) => running === undefined && queued.length === 0);
      const loaded = servers.find(({ running, queued }) => queued.length > (running === undefined ? 1 : 0));
      if (idle === undefined || loaded === undefined) return;
      idle.queued.push(loaded.queued.shift()!);
    }
  }
}

test('a plain task goes to no worker with less than one CPU', () => {
  const placing = new Placing();
  placing.join(W1, 1, { cpu: 0.5 });
  placing.join(W2, 1, { cpu: 1 });
  expect([1, 2].map((task) => placing.place(taskOf(task, 100), 0))).toEqual([W2, W2]);
});

test('agrees with a model that recomputes every waiting time at each decision', () => {
  const step = fc.oneof(
    { weight: 10, arbitrary: fc.record({ kind: fc.constant('place' as const), ms: fc.nat(40) }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('start' as const), which: fc.nat() }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(30) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('join' as const), slots: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('openOrClose' as const), which: fc.nat() }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
      const queue = new Placing();
      const model = new Model();
      let workers: Address[] = [];
      let nextWorker = 100;
      let nextTask = 0;
      let now = 0;
      const pick = <T>(of: readonly T[], which: number): T | undefined => of[which % of.length];
      for (const step of steps) {
        switch (step.kind) {
          case 'wait':
            now += step.ms;
            break;
          case 'join': {
            const worker = nextWorker++ as Address;
            queue.join(worker, step.slots);
            model.add(worker, step.slots);
            workers.push(worker);
            break;
          }
          case 'leave': {
            const worker = pick(workers, step.which);
            if (worker === undefined) break;
            queue.leave(worker, now);
            model.remove(worker);
            workers = workers.filter((other) => other !== worker);
            break;
          }
          case 'openOrClose': {
            const worker = pick(workers, step.which);
            if (worker === undefined) break;
            const open = !model.of(worker)[0]!.open;
            queue.setOpen(worker, open, now);
            for (const server of model.of(worker)) server.open = open;
            break;
          }
          case 'place': {
            const task = taskOf(nextTask++, step.ms);
            expect(queue.place(task, now)).toBe(model.place(task, now));
            break;
          }
          case 'start': {
            const waiting = model.servers.flatMap(({ queued }) => queued);
            const task = pick(waiting, step.which);
            if (task === undefined) break;
            if (queue.started(task.task, now)) model.start(task, now);
            break;
          }
          case 'end': {
            const task = pick(model.tasks(), step.which);
            if (task === undefined) break;
            queue.ended(task.task, now);
            model.end(task);
            break;
          }
        }
        queue.queue.checkInvariants();
        for (const worker of workers) {
          const expected = Math.min(...model.of(worker).map((server) => model.waiting(server, now)));
          expect(queue.waitingMs(worker, now)).toBe(expected);
        }
      }
    }),
    { numRuns: 400 },
  );
});

test('tasks with large demands wait for resources of a worker, not for slots, so each goes to a different worker', () => {
  const placing = new Placing();
  for (const address of [W1, W2, W3]) placing.join(address, 4, { gpu: 1 });
  const placed = [1, 2, 3].map((task) => placing.place(taskOf(task, 5_000, { gpu: 1 }), 0));
  expect(new Set(placed).size).toBe(3);
  placing.place(taskOf(4, 1_000, { gpu: 1 }), 0);
  // The next two tasks go to workers without a third waiting task.
  const next = [5, 6].map((task) => placing.place(taskOf(task, 1_000, { gpu: 1 }), 0));
  expect(new Set(next).size).toBe(2);
});
