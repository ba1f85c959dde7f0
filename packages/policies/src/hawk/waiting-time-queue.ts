import {
  addVector,
  DenseIds,
  fitsIn,
  IndexedHeap,
  invariant,
  type Millis,
  SLOT,
  sumOf,
  type Vector,
} from '@goshawk/core';
import type { RunView, StageView, WorkerView } from '../contract.js';
import { fitsEver } from '../fitting.js';

/** A task that waits or runs at a server, with the estimate used for its placement. */
interface Placement {
  readonly run: RunView;
  readonly estimateMs: Millis;
  server: Server;
}

/** One slot of a worker, treated as a server with a queue (Hawk §4.1). */
interface Server {
  readonly id: number;
  readonly worker: WorkerView;
  /** All servers of the worker, including this one. */
  readonly siblings: readonly Server[];
  /** Tasks placed here that have not started, in order of placement. */
  readonly queued: Placement[];
  queuedMs: Millis;
  running: Placement | undefined;
  startedAt: Millis;
  /** Whether new tasks may be placed here. */
  open: boolean;
}

/**
 * Central's priority queue of ⟨server, waiting time⟩ (Hawk §3.7). The waiting time of a server is the sum of the
 * estimates of its queued tasks, plus the remaining time of the running one: max(0, estimate − elapsed). Each task
 * goes to the server with the lowest waiting time, counting earlier placements.
 *
 * Servers without unfinished tasks come first, even before one with an overdue task and an empty queue: a remaining
 * time of 0 does not mean free. Among them the lowest number comes first, so that long tasks stay on the same
 * servers.
 *
 * The passage of time must not reorder a heap. While the running task is within its estimate, a server's key is the
 * time at which it is expected to be free, which is constant. After that, and while no task runs, its key is the sum
 * of its queued estimates, which is constant too. So there are two heaps, and a third that tells when servers move
 * from the first to the second.
 */
export class WaitingTimeQueue {
  readonly #servers: (Server | undefined)[] = [];
  readonly #ids = new DenseIds();
  /** Indexed by worker id. */
  readonly #serversOf: (readonly Server[] | undefined)[] = [];
  /** Indexed by run id. */
  readonly #placements: (Placement | undefined)[] = [];

  /** Key: the time at which the server is expected to be free. */
  readonly #onTime = new IndexedHeap();
  /** The same servers; key: the time at which the running task exceeds its estimate. */
  readonly #dueAt = new IndexedHeap();
  /** Overdue servers, and servers without a running task. Key: the sum of the queued estimates, or `EMPTY`. */
  readonly #constant = new IndexedHeap();

  /** Removes the worker and its tasks. */
  removeWorker(worker: WorkerView): void {
    this.setOpen(worker, false, 0);
    for (const server of this.#serversOf[worker.id] ?? []) {
      for (const { run } of placementsOf(server)) this.#placements[run.id] = undefined;
      this.#servers[server.id] = undefined;
      this.#ids.release(server.id);
    }
    this.#serversOf[worker.id] = undefined;
  }

  /** Sets whether new tasks may go to the worker. */
  setOpen(worker: WorkerView, open: boolean, now: Millis): void {
    for (const server of this.#serversAt(worker)) {
      if (server.open === open) continue;
      server.open = open;
      this.#updateHeaps(server, now);
    }
  }

  /** The server with the lowest waiting time for a task of the stage; undefined if no open one is large enough. */
  shortestWait(stage: StageView, now: Millis): Server | undefined {
    if (!stage.needs.isPlain) return this.#shortestWaitThatFits(stage, now);
    this.#moveOverdue(now);
    const isOnTime = this.#onTime.topKey() - now < this.#constant.topKey();
    const server = this.#servers[isOnTime ? this.#onTime.top() : this.#constant.top()];
    // A worker may have less than the one CPU that a plain task takes.
    return server === undefined || fitsEver(stage, server.worker)
      ? server
      : this.#shortestWaitThatFits(stage, now);
  }

  /** Appends the run to the server's queue. */
  put(run: RunView, server: Server, estimateMs: Millis, now: Millis): void {
    const placement = { run, estimateMs, server };
    this.#placements[run.id] = placement;
    this.#enqueue(placement, server);
    this.#updateHeaps(server, now);
  }

  /** The run was found at its worker, waiting or running. */
  found(run: RunView, estimateMs: Millis, now: Millis): void {
    if (this.#placements[run.id] !== undefined) return;
    const servers = this.#serversAt(run.worker);
    const idle = run.isQueued ? undefined : servers.find((server) => server.running === undefined);
    if (idle === undefined) return this.put(run, this.#shortestOf(servers, now), estimateMs, now);
    const placement = { run, estimateMs, server: idle };
    this.#placements[run.id] = placement;
    idle.running = placement;
    idle.startedAt = run.startedAt;
    this.#updateHeaps(idle, now);
  }

  started(run: RunView, now: Millis): void {
    const placement = this.#placements[run.id];
    if (placement === undefined || placement.server.running === placement) return;
    const from = placement.server;
    this.#dequeue(from, placement);
    // A worker with several slots may have started the task in another slot than assumed here.
    const { siblings } = from;
    const server = from.running === undefined ? from : siblings.find((s) => s.running === undefined);
    invariant(server !== undefined, () => `${siblings.length} slots of a worker run more tasks than that`);
    placement.server = server;
    server.running = placement;
    server.startedAt = run.startedAt;
    if (server !== from) this.#balance(siblings);
    for (const sibling of siblings) this.#updateHeaps(sibling, now);
  }

  ended(run: RunView, now: Millis): void {
    const placement = this.#placements[run.id];
    if (placement === undefined) return;
    this.#placements[run.id] = undefined;
    const { server } = placement;
    if (server.running === placement) server.running = undefined;
    else this.#dequeue(server, placement);
    const { siblings } = server;
    if (siblings.length > 1) this.#balance(siblings);
    for (const sibling of siblings) this.#updateHeaps(sibling, now);
  }

  /** Returns the waiting time (ms) of a task placed at the worker now; Infinity if the worker has no server. */
  waitingMs(worker: WorkerView, now: Millis): Millis {
    const servers = this.#serversOf[worker.id] ?? [];
    return Math.min(...servers.map((server) => this.#waitingMs(server, now)));
  }

  checkInvariants(): void {
    let atServers = 0;
    for (const server of this.#servers) {
      if (server === undefined) continue;
      atServers += placementsOf(server).length;
      const sum = sumOf(server.queued, ({ estimateMs }) => estimateMs);
      invariant(
        Math.abs(sum - server.queuedMs) <= 1e-6 * Math.max(1, sum),
        () => `server ${server.id} has ${sum} ms queued, counted ${server.queuedMs}`,
      );
      const lists = [this.#onTime, this.#constant].filter((heap) => heap.has(server.id)).length;
      invariant(
        lists === (server.open ? 1 : 0),
        () => `server ${server.id}, open ${server.open}, is in ${lists} lists`,
      );
    }
    const placed = this.#placements.filter((placement) => placement !== undefined).length;
    invariant(placed === atServers, () => `${placed} tasks are placed, ${atServers} are at servers`);
  }

  // ---- the order

  /** Few tasks need more than a slot, so a scan of all servers is sufficient. It uses the same order as the heaps. */
  #shortestWaitThatFits(stage: StageView, now: Millis): Server | undefined {
    let best: Server | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const server of this.#servers) {
      if (server === undefined || !server.open || !fitsEver(stage, server.worker)) continue;
      const forRoom = roomAfterMs(stage, server, now);
      const forSlot = isEmpty(server) ? EMPTY : this.#waitingMs(server, now);
      const waiting = Math.max(forSlot, forRoom === 0 ? EMPTY : forRoom);
      if (waiting >= least) continue;
      least = waiting;
      best = server;
    }
    return best;
  }

  #waitingMs(server: Server, now: Millis): Millis {
    if (server.running === undefined) return server.queuedMs;
    return server.queuedMs + Math.max(0, server.startedAt + server.running.estimateMs - now);
  }

  #moveOverdue(now: Millis): void {
    while (this.#dueAt.topKey() <= now) this.#updateHeaps(this.#servers[this.#dueAt.top()]!, now);
  }

  /** Moves the server to the heap to which it belongs. */
  #updateHeaps(server: Server, now: Millis): void {
    const { id, open, queuedMs, running, startedAt } = server;
    const dueAt = running === undefined ? now : startedAt + running.estimateMs;
    const isOnTime = open && dueAt > now;
    setOrDelete(this.#onTime, id, isOnTime, dueAt + queuedMs);
    setOrDelete(this.#dueAt, id, isOnTime, dueAt);
    setOrDelete(this.#constant, id, open && !isOnTime, isEmpty(server) ? EMPTY : queuedMs);
  }

  // ---- bookkeeping

  #serversAt(worker: WorkerView): readonly Server[] {
    const known = this.#serversOf[worker.id];
    if (known !== undefined) return known;
    const servers: Server[] = [];
    for (let slot = 0; slot < worker.capacity[SLOT]!; slot++) {
      const server: Server = {
        id: this.#ids.take(),
        worker,
        siblings: servers,
        queued: [],
        queuedMs: 0,
        running: undefined,
        startedAt: 0,
        open: false,
      };
      this.#servers[server.id] = server;
      servers.push(server);
    }
    this.#serversOf[worker.id] = servers;
    return servers;
  }

  #shortestOf(servers: readonly Server[], now: Millis): Server {
    return servers.reduce((a, b) => (this.#waitingMs(b, now) < this.#waitingMs(a, now) ? b : a));
  }

  #enqueue(placement: Placement, server: Server): void {
    placement.server = server;
    server.queued.push(placement);
    server.queuedMs += placement.estimateMs;
  }

  #dequeue(server: Server, placement: Placement): void {
    // The oldest task usually starts first.
    if (server.queued[0] === placement) server.queued.shift();
    else server.queued.splice(server.queued.indexOf(placement), 1);
    // Resets the rounding error of the sum when the queue is empty.
    server.queuedMs = server.queued.length === 0 ? 0 : server.queuedMs - placement.estimateMs;
  }

  /** The slots of a worker share one queue, so queued tasks move to idle slots. */
  #balance(servers: readonly Server[]): void {
    for (;;) {
      const idle = servers.find(isEmpty);
      const loaded = servers.find((s) => s.queued.length > (s.running === undefined ? 1 : 0));
      if (idle === undefined || loaded === undefined) return;
      const placement = loaded.queued[0]!;
      this.#dequeue(loaded, placement);
      this.#enqueue(placement, idle);
    }
  }
}

/**
 * Time until the worker has room for one more task of the stage, in ms: running tasks keep their resources until
 * their expected end, and queued tasks come first.
 */
function roomAfterMs({ demand }: StageView, { worker, siblings }: Server, now: Millis): Millis {
  const free = [...worker.capacity];
  const ends: { readonly at: Millis; readonly demand: Vector }[] = [];
  for (const { running, startedAt } of siblings) {
    if (running === undefined) continue;
    addVector(free, running.run.stage.demand, -1);
    ends.push({ at: Math.max(now, startedAt + running.estimateMs), demand: running.run.stage.demand });
  }
  let at = now;
  const waitForRoom = (needed: Vector): void => {
    ends.sort((one, other) => one.at - other.at);
    while (!fitsIn(needed, free) && ends.length > 0) {
      const end = ends.shift()!;
      at = Math.max(at, end.at);
      addVector(free, end.demand, 1);
    }
  };
  for (const { run, estimateMs } of siblings.flatMap(({ queued }) => queued)) {
    waitForRoom(run.stage.demand);
    addVector(free, run.stage.demand, -1);
    ends.push({ at: at + estimateMs, demand: run.stage.demand });
  }
  waitForRoom(demand);
  return at - now;
}

/** The waiting time of a server without tasks, which is below all others. */
const EMPTY = -1;

function isEmpty({ running, queued }: Server): boolean {
  return running === undefined && queued.length === 0;
}

function placementsOf({ running, queued }: Server): readonly Placement[] {
  return running === undefined ? queued : [running, ...queued];
}

function setOrDelete(heap: IndexedHeap, id: number, isIn: boolean, key: number): void {
  if (isIn) heap.set(id, key);
  else heap.delete(id);
}
