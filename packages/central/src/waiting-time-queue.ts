import {
  type Address,
  fits,
  type HeldTask,
  IndexedHeap,
  invariant,
  type Millis,
  NO_RESOURCES,
  type Resources,
} from '@goshawk/core';

/** A task that central has placed, or is to place. */
export interface PlacedTask {
  readonly owner: Address;
  readonly job: number;
  readonly stage: number;
  readonly task: number;
  readonly attempt: number;
  readonly long: boolean;
  readonly estimateMs: Millis;
  readonly demand: Resources;
}

/** What a worker says that it holds. */
export interface HeldPlacement {
  readonly task: PlacedTask;
  /** Since its start; undefined while it waits. ms */
  readonly elapsedMs: Millis | undefined;
}

/** One slot of a worker, treated like a server of its own queue (Hawk §4.1). */
interface Server {
  readonly id: number;
  readonly worker: Address;
  /** Those of the worker, this one among them. */
  readonly siblings: readonly Server[];
  readonly capacity: Resources;
  /** Placed here and not started, in the order of placement. */
  readonly queued: PlacedTask[];
  queuedMs: Millis;
  running: PlacedTask | undefined;
  startedAt: Millis;
  /** New tasks may be placed here. */
  open: boolean;
}

/** The worker has named it: if it does not do so again, the task is no longer there. */
const HAS_ARRIVED = Number.NEGATIVE_INFINITY;

/** Where a task is. */
interface Place {
  readonly task: PlacedTask;
  /** When it was sent to the worker. */
  readonly placedAt: Millis;
  server: Server;
}

/**
 * Central's priority queue of ⟨server, waiting time⟩ (Hawk §3.7). The waiting time of a server is the sum of
 * the estimates of the tasks queued there, plus what remains of the one that runs: max(0, estimate −
 * elapsed). Each task goes to the server of least waiting time, counting what was just placed.
 *
 * Servers without any unfinished task come before all others, also before one whose running task is overdue
 * and has nothing behind it: remaining 0 is not free. Among them the lowest number comes first, so that long
 * tasks keep to the same servers.
 *
 * Time passing does not reorder a heap here. While the running task is within its estimate a server's key is
 * the time at which it is believed to be free, which does not move; from then on, and while nothing runs, it
 * is the constant sum of its queued estimates. So there are three sets, and a fourth heap that says which
 * server is the next to go from the second to the third.
 */
export class WaitingTimeQueue {
  readonly #servers: (Server | undefined)[] = [];
  readonly #serversOf = new Map<Address, Server[]>();
  /** By owner, by job, by task: small integers all, which a Map finds soonest. */
  readonly #places = new Map<Address, Map<number, Map<number, Place>>>();

  readonly #empty = new IndexedHeap();
  /** Key: the time at which the server is believed to be free. */
  readonly #onTime = new IndexedHeap();
  /** The same servers; key: the time at which the running task's estimate is used up. */
  readonly #dueAt = new IndexedHeap();
  /** Overdue, or nothing has started. Key: the sum of the queued estimates. */
  readonly #constant = new IndexedHeap();

  addWorker(worker: Address, slots: number, capacity: Resources): void {
    invariant(!this.#serversOf.has(worker), `worker ${worker} was added twice`);
    const servers: Server[] = [];
    for (let i = 0; i < slots; i++) {
      const server: Server = {
        id: this.#servers.length,
        worker,
        siblings: servers,
        capacity,
        queued: [],
        queuedMs: 0,
        running: undefined,
        startedAt: 0,
        open: false,
      };
      this.#servers.push(server);
      servers.push(server);
    }
    this.#serversOf.set(worker, servers);
  }

  /** Tasks that were placed and have not ended. */
  get size(): number {
    let size = 0;
    for (const jobs of this.#places.values()) for (const tasks of jobs.values()) size += tasks.size;
    return size;
  }

  hasWorker(worker: Address): boolean {
    return this.#serversOf.has(worker);
  }

  /** Forgets the worker and all that was placed there. */
  removeWorker(worker: Address): void {
    for (const server of this.#serversOf.get(worker) ?? []) {
      this.#clear(server);
      this.#servers[server.id] = undefined;
      this.#unlist(server.id);
    }
    this.#serversOf.delete(worker);
  }

  /** Whether new tasks may go to the worker: not while it drains, nor in a partition that the policy forbids. */
  setOpen(worker: Address, open: boolean, now: Millis): void {
    for (const server of this.#serversOf.get(worker) ?? []) {
      if (server.open === open) continue;
      server.open = open;
      this.#relist(server, now);
    }
  }

  /** Whether anything that central placed is there, started or not. */
  isBusy(worker: Address): boolean {
    return (this.#serversOf.get(worker) ?? []).some((s) => s.running !== undefined || s.queued.length > 0);
  }

  /** @returns where the task is, by the attempt that was placed last */
  find(owner: Address, job: number, task: number): Place | undefined {
    return this.#places.get(owner)?.get(job)?.get(task);
  }

  /** Places the task on the server of least waiting time; undefined when no open server can ever hold it. */
  place(task: PlacedTask, now: Millis): Address | undefined {
    const server = this.#least(task.demand, now);
    if (server === undefined) return undefined;
    this.#enqueue(task, server, now);
    this.#relist(server, now);
    return server.worker;
  }

  /** @param place as `find` gives it */
  started(place: Place, now: Millis): void {
    if (place.server.running === place.task) return;
    const from = place.server;
    this.#dequeue(from, place.task);
    // With several slots the worker may have started it elsewhere than where it was counted.
    const { siblings } = from;
    const server =
      from.running === undefined ? from : (siblings.find((s) => s.running === undefined) ?? from);
    // All slots are taken: the end of something that ran here was not heard.
    if (server.running !== undefined) this.#forget(server.running);
    place.server = server;
    server.running = place.task;
    server.startedAt = now;
    if (server !== from) this.#level(siblings);
    for (const sibling of siblings) this.#relist(sibling, now);
  }

  /** @param place as `find` gives it */
  ended({ task, server }: Place, now: Millis): void {
    this.#forget(task);
    if (server.running === task) server.running = undefined;
    else this.#dequeue(server, task);
    const { siblings } = server;
    if (siblings.length > 1) this.#level(siblings);
    for (const sibling of siblings) this.#relist(sibling, now);
  }

  /**
   * Replaces what is believed to be at the worker by what it says itself, and what it cannot know yet.
   *
   * @param since what was placed later and has not started may still be on its way to the worker
   */
  restore(worker: Address, held: readonly HeldPlacement[], since: Millis, now: Millis): void {
    const servers = this.#serversOf.get(worker);
    if (servers === undefined || (held.length === 0 && !this.isBusy(worker))) return;
    const onTheWay = servers
      .flatMap((server) => server.queued.map((task) => this.#placeOfTask(task)!))
      .filter(({ placedAt }) => placedAt > since);
    for (const server of servers) this.#clear(server);
    for (const { task, elapsedMs } of held) {
      if (this.#placeOfTask(task) !== undefined) continue;
      const idle = servers.find((s) => s.running === undefined);
      if (elapsedMs !== undefined && idle !== undefined) {
        idle.running = task;
        idle.startedAt = now - elapsedMs;
        this.#put(task, idle, HAS_ARRIVED);
      } else {
        this.#enqueue(task, this.#leastOf(servers, now), HAS_ARRIVED);
      }
    }
    for (const { task, placedAt } of onTheWay) {
      if (this.#placeOfTask(task) === undefined) this.#enqueue(task, this.#leastOf(servers, now), placedAt);
    }
    for (const server of servers) this.#relist(server, now);
  }

  /** The waiting time that a task placed now would see, by worker. For `workers` and tests. ms */
  waitingMs(worker: Address, now: Millis): Millis {
    const servers = this.#serversOf.get(worker) ?? [];
    return Math.min(...servers.map((server) => this.#waitingMs(server, now)));
  }

  checkInvariants(now: Millis): void {
    for (const server of this.#servers) {
      if (server === undefined) continue;
      const sum = server.queued.reduce((total, task) => total + task.estimateMs, 0);
      invariant(
        Math.abs(sum - server.queuedMs) <= 1e-6 * Math.max(1, sum),
        () => `server ${server.id} has ${sum} ms queued, counted ${server.queuedMs}`,
      );
      const lists = [this.#empty, this.#onTime, this.#constant].filter((heap) => heap.has(server.id)).length;
      invariant(
        lists === (server.open ? 1 : 0),
        () => `server ${server.id}, open ${server.open}, stands in ${lists} lists`,
      );
    }
    const placed = this.size;
    let there = 0;
    for (const s of this.#servers)
      if (s !== undefined) there += s.queued.length + (s.running === undefined ? 0 : 1);
    invariant(placed === there, () => `${placed} tasks are placed, ${there} are at servers at ${now}`);
  }

  // ---- the order

  #least(demand: Resources, now: Millis): Server | undefined {
    if (demand !== NO_RESOURCES && Object.keys(demand).length > 0) return this.#leastThatFits(demand, now);
    this.#moveOverdue(now);
    let id = this.#empty.top();
    if (id < 0) {
      const onTime = this.#onTime.topKey() - now;
      const constant = this.#constant.topKey();
      if (onTime === Number.POSITIVE_INFINITY && constant === Number.POSITIVE_INFINITY) return undefined;
      id = onTime < constant ? this.#onTime.top() : this.#constant.top();
    }
    return this.#servers[id];
  }

  /** Tasks with demands are few: look at every server, in the same order as the heaps have. */
  #leastThatFits(demand: Resources, now: Millis): Server | undefined {
    let best: Server | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const server of this.#servers) {
      if (server === undefined || !server.open || !fits(demand, server.capacity)) continue;
      const waiting =
        server.running === undefined && server.queued.length === 0 ? -1 : this.#waitingMs(server, now);
      if (waiting < least) {
        least = waiting;
        best = server;
      }
    }
    return best;
  }

  #waitingMs(server: Server, now: Millis): Millis {
    if (server.running === undefined) return server.queuedMs;
    return server.queuedMs + Math.max(0, server.startedAt + server.running.estimateMs - now);
  }

  #moveOverdue(now: Millis): void {
    while (this.#dueAt.topKey() <= now) this.#relist(this.#servers[this.#dueAt.top()]!, now);
  }

  #relist(server: Server, now: Millis): void {
    const { id } = server;
    const dueAt = server.running === undefined ? now : server.startedAt + server.running.estimateMs;
    if (!server.open) {
      this.#unlist(id);
    } else if (server.running === undefined && server.queued.length === 0) {
      this.#onTime.delete(id);
      this.#dueAt.delete(id);
      this.#constant.delete(id);
      this.#empty.set(id, 0);
    } else if (dueAt > now) {
      this.#empty.delete(id);
      this.#constant.delete(id);
      this.#onTime.set(id, dueAt + server.queuedMs);
      this.#dueAt.set(id, dueAt);
    } else {
      this.#empty.delete(id);
      this.#onTime.delete(id);
      this.#dueAt.delete(id);
      this.#constant.set(id, server.queuedMs);
    }
  }

  #unlist(id: number): void {
    this.#empty.delete(id);
    this.#onTime.delete(id);
    this.#dueAt.delete(id);
    this.#constant.delete(id);
  }

  // ---- bookkeeping

  #placeOfTask({ owner, job, task }: PlacedTask): Place | undefined {
    return this.find(owner, job, task);
  }

  #leastOf(servers: readonly Server[], now: Millis): Server {
    return servers.reduce((a, b) => (this.#waitingMs(b, now) < this.#waitingMs(a, now) ? b : a));
  }

  #enqueue(task: PlacedTask, server: Server, placedAt: Millis): void {
    this.#put(task, server, placedAt);
    server.queued.push(task);
    server.queuedMs += task.estimateMs;
  }

  #put(task: PlacedTask, server: Server, placedAt: Millis): void {
    let jobs = this.#places.get(task.owner);
    if (jobs === undefined) {
      jobs = new Map();
      this.#places.set(task.owner, jobs);
    }
    let tasks = jobs.get(task.job);
    if (tasks === undefined) {
      tasks = new Map();
      jobs.set(task.job, tasks);
    }
    tasks.set(task.task, { task, server, placedAt });
  }

  #dequeue(server: Server, task: PlacedTask): void {
    // What has waited longest starts first, as a rule.
    if (server.queued[0] === task) server.queued.shift();
    else server.queued.splice(server.queued.indexOf(task), 1);
    // Sums of floating-point numbers drift; an empty queue is 0 again.
    server.queuedMs = server.queued.length === 0 ? 0 : server.queuedMs - task.estimateMs;
  }

  #forget({ owner, job, task }: PlacedTask): void {
    const jobs = this.#places.get(owner);
    const tasks = jobs?.get(job);
    if (!tasks?.delete(task) || tasks.size > 0) return;
    jobs!.delete(job);
    if (jobs!.size === 0) this.#places.delete(owner);
  }

  #clear(server: Server): void {
    const tasks = server.running === undefined ? server.queued : [server.running, ...server.queued];
    for (const task of tasks) this.#forget(task);
    server.queued.length = 0;
    server.queuedMs = 0;
    server.running = undefined;
  }

  /** A worker's slots share one queue: what waits at one of them is counted where nothing is. */
  #level(servers: readonly Server[]): void {
    for (;;) {
      const idle = servers.find((s) => s.running === undefined && s.queued.length === 0);
      const loaded = servers.find((s) => s.queued.length > (s.running === undefined ? 1 : 0));
      if (idle === undefined || loaded === undefined) return;
      const task = loaded.queued[0]!;
      this.#dequeue(loaded, task);
      idle.queued.push(task);
      idle.queuedMs += task.estimateMs;
      this.#placeOfTask(task)!.server = idle;
    }
  }
}

/** As its worker tells of it. */
export function heldBy(held: HeldTask): HeldPlacement {
  const { owner, job, task, attempt, long, estimateMs, running, elapsedMs } = held;
  return {
    task: { owner, job, stage: 0, task, attempt, long, estimateMs, demand: {} },
    elapsedMs: running ? elapsedMs : undefined,
  };
}
