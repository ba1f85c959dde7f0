import { ArrivalOrder } from './arrival-order.js';
import { ActiveConfigurations, type Configuration, type ServerClass } from './configurations.js';
import type { Group } from './group.js';
import { MaxTree } from './max-tree.js';
import { Packer } from './packer.js';
import { reservedSize } from './partition.js';

interface VirtualQueuesOptions {
  readonly j: number;
  /** A server whose configuration weighs less than half of the largest starts nothing until it is empty (§VIII). */
  readonly stall?: boolean;
  /** Classes of servers, if these differ. */
  readonly classOf?: (server: number) => ServerClass;
  /** Whether the task fits in every resource, if sizes represent several resources. */
  readonly holds?: (server: number, group: Group) => boolean;
}

/**
 * VQS (§V-B). An empty server takes the configuration with the largest weight, and keeps it until it is empty
 * again. Passes visit servers in order of number. An index skips servers that cannot act.
 */
export class VirtualQueues extends Packer {
  readonly configurations: ActiveConfigurations;
  readonly #options: VirtualQueuesOptions;
  /** Minimum reserved size of the smallest tasks. */
  readonly #leastReserved: number;
  readonly #queues: ArrivalOrder[] = [];
  /** Units reserved for all types, by server. */
  readonly #used: number[] = [];
  /** Units reserved for the large type, by server. */
  readonly #usedLarge: number[] = [];
  readonly #isStalled: boolean[] = [];
  /** Room for fillers of each server, by the queue from which it fills; −1: none. */
  readonly #fillers: MaxTree[] = [];
  /** 0 for each server that lacks its large task, else −1, by the queue of that task. */
  readonly #lacksLarge: MaxTree[] = [];
  /** Indexed configuration of each server. */
  readonly #entered: (Configuration | undefined)[] = [];
  /** 0 for each empty server. */
  readonly #empty = new MaxTree();
  /** Queues whose head has changed since all servers were checked, without duplicates. */
  #changed: number[] = [];
  /** The second buffer for `#changed`. */
  #spare: number[] = [];
  readonly #isChanged: boolean[] = [];
  /** Queues whose head has changed during this visit; `#touches` is their number. */
  readonly #touched: number[] = [];
  #touches = 0;
  /** The server being visited; −1: none. */
  #visited = -1;
  /** The next server that may start the head of each queue; Infinity: none. */
  readonly #candidates: number[] = [];

  constructor(options: VirtualQueuesOptions) {
    super();
    this.#options = options;
    this.configurations = new ActiveConfigurations(options.j, options.classOf);
    this.#leastReserved = reservedSize(0, options.j);
  }

  /** Sets the configuration of the server when the state is rebuilt. */
  configure(server: number, configuration: Configuration): void {
    this.configurations.set(server, configuration);
    this.#ready(server);
  }

  protected pack(freed: readonly number[]): void {
    for (const server of freed) {
      if (this.jobs[server] === 0) this.configurations.set(server, undefined);
      // The visit that follows updates the index of this server.
      if (this.#options.stall === true) this.#isStalled[server] = this.#stalls(server);
    }
    // Without waiting tasks, `#changed` stays for the next arrival.
    if (this.tasks === 0) {
      for (const server of freed) this.#ready(server);
      return;
    }
    for (let left = freed; this.#pass(left) && this.tasks > 0; left = []);
  }

  /** @returns whether it placed any task */
  #pass(freed: readonly number[]): boolean {
    const active = this.#changed;
    this.#changed = this.#spare;
    for (const queue of active) {
      this.#isChanged[queue] = false;
      this.#candidates[queue] = this.#nextFor(queue, 0);
    }
    let hasPlaced = false;
    let at = 0;
    for (let cursor = 0; ; ) {
      while (at < freed.length && freed[at]! < cursor) at++;
      if (this.tasks === 0) {
        for (; at < freed.length; at++) this.#ready(freed[at]!);
        break;
      }
      const server = this.#nextOf(active, cursor, at < freed.length ? freed[at]! : Number.POSITIVE_INFINITY);
      if (server === Number.POSITIVE_INFINITY) break;
      cursor = server + 1;
      this.#touches = 0;
      const tasks = this.tasks;
      this.#visited = server;
      this.#visit(server);
      this.#visited = -1;
      this.#ready(server);
      hasPlaced ||= this.tasks < tasks;
      if (this.tasks === 0) continue;
      for (let touch = 0; touch < this.#touches; touch++) {
        const queue = this.#touched[touch]!;
        if (!active.includes(queue)) active.push(queue);
        this.#candidates[queue] = this.#nextFor(queue, cursor);
      }
      for (const queue of active) {
        if (this.#candidates[queue]! < cursor) this.#candidates[queue] = this.#nextFor(queue, cursor);
      }
    }
    while (active.length > 0) active.pop();
    this.#spare = active;
    return hasPlaced;
  }

  /** The next server, from this number on, that may act. */
  #nextOf(active: readonly number[], from: number, freed: number): number {
    let server = freed;
    for (const queue of active) server = Math.min(server, this.#candidates[queue]!);
    const empty = this.tasks > 0 ? this.#empty.firstFrom(from, 0) : -1;
    return empty < 0 ? server : Math.min(server, empty);
  }

  /** Records that the head of the queue has changed. */
  #mark(queue: number): void {
    this.#touched[this.#touches++] = queue;
    if (this.#isChanged[queue] === true) return;
    this.#isChanged[queue] = true;
    this.#changed.push(queue);
  }

  /** The next server, from this number on, for the head of the queue; infinity: none. */
  #nextFor(queue: number, from: number): number {
    const head = this.#queues[queue]!.head();
    if (head === undefined) return Number.POSITIVE_INFINITY;
    const filling = this.#fillers[queue]?.firstFrom(from, this.#reserved(head)) ?? -1;
    const wanting = this.#lacksLarge[queue]?.firstFrom(from, 0) ?? -1;
    if (filling < 0) return wanting < 0 ? Number.POSITIVE_INFINITY : wanting;
    return wanting < 0 ? filling : Math.min(filling, wanting);
  }

  #visit(server: number): void {
    if (this.#isStalled[server] === true) return;
    const chosen = this.configurations.choose(server, this.jobs[server] === 0);
    if (chosen === undefined) return;
    if (chosen.large === 1 && this.#usedLarge[server] === 0) this.#putHead(chosen.largeType, server);
    while (this.#fillerRoom(server) > 0 && this.#putHead(chosen.filler, server));
  }

  /** @returns whether the head of the queue fitted */
  #putHead(queue: number, server: number): boolean {
    const head = this.#queues[queue]?.head();
    if (head === undefined) return false;
    const room = this.#isLarge(server, queue) ? Number.POSITIVE_INFINITY : this.#fillerRoom(server);
    if (this.#reserved(head) > room || this.#options.holds?.(server, head) === false) return false;
    this.put(head, server);
    return true;
  }

  #isLarge(server: number, queue: number): boolean {
    const configuration = this.configurations.of(server);
    return configuration?.large === 1 && configuration.largeType === queue;
  }

  /** Fillers may use the whole server, or 1/3 of it if the rest is reserved for a large task. */
  #fillerRoom(server: number): number {
    const { capacity } = this.configurations.kindAt(server);
    const used = this.#used[server] ?? 0;
    if (this.configurations.of(server)?.large !== 1) return capacity - used;
    return capacity / 3 - (used - (this.#usedLarge[server] ?? 0));
  }

  #stalls(server: number): boolean {
    if (this.jobs[server] === 0) return false;
    return this.#isStalled[server] === true || this.configurations.isPoor(server);
  }

  #reserved({ size }: Group): number {
    return Math.max(size, this.#leastReserved);
  }

  /** Updates the index of the server for heads of queues. */
  #ready(server: number): void {
    const acts = this.isOpen(server) && this.#isStalled[server] !== true;
    this.#empty.set(server, acts && this.jobs[server] === 0 ? 0 : -1);
    const configuration = acts ? this.configurations.of(server) : undefined;
    const before = this.#entered[server];
    if (before !== configuration) {
      if (before !== undefined) this.#enter(before, server, -1, false);
      this.#entered[server] = configuration;
    }
    if (configuration === undefined) return;
    this.#enter(configuration, server, Math.max(-1, this.#fillerRoom(server)), this.#usedLarge[server] === 0);
  }

  #enter(
    { large, largeType, filler }: Configuration,
    server: number,
    room: number,
    lacksLarge: boolean,
  ): void {
    this.#fillers[filler] ??= new MaxTree();
    this.#fillers[filler].set(server, room);
    if (large === 0) return;
    this.#lacksLarge[largeType] ??= new MaxTree();
    this.#lacksLarge[largeType].set(server, lacksLarge ? 0 : -1);
  }

  protected opened(server: number): void {
    this.configurations.opened(server);
    this.#used[server] ??= 0;
    this.#usedLarge[server] ??= 0;
    this.#ready(server);
  }

  protected closed(server: number): void {
    this.#ready(server);
  }

  // A server with a departure is indexed again when it is visited.
  protected used(server: number, size: number): void {
    if (size === 0) return;
    const units = Math.abs(size);
    const reserved = Math.sign(size) * Math.max(units, this.#leastReserved);
    this.#used[server] = (this.#used[server] ?? 0) + reserved;
    const { family, largeType } = this.configurations.kindAt(server);
    if (this.configurations.queueOf(units, family) === largeType)
      this.#usedLarge[server] = (this.#usedLarge[server] ?? 0) + reserved;
    if (size > 0 && server !== this.#visited) this.#ready(server);
  }

  protected added(group: Group): void {
    const queue = this.#queueOf(group);
    this.configurations.widen(group.family);
    this.configurations.lengths[queue]! += group.count;
    this.#queues[queue] ??= new ArrivalOrder();
    const order = this.#queues[queue];
    const before = order.head();
    order.add(group);
    if (order.head() !== before) this.#mark(queue);
  }

  protected override grew(group: Group, more: number): void {
    this.configurations.lengths[this.#queueOf(group)]! += more;
  }

  protected removed(group: Group): void {
    const queue = this.#queueOf(group);
    const order = this.#queues[queue]!;
    if (order.head() === group) this.#mark(queue);
    order.remove(group);
  }

  #queueOf({ size, family }: Group): number {
    return this.configurations.queueOf(size, family);
  }
}
