import type { CentralEnvironment } from '@goshawk/central';
import {
  type Address,
  type Environment,
  invariant,
  type KillReason,
  type Message,
  type Millis,
  type Random,
} from '@goshawk/core';
import type { Job, SchedulerEnvironment } from '@goshawk/scheduler';
import type { TaskOrder, WorkerEnvironment } from '@goshawk/worker';
import { estimatorFailed } from './estimator-failed.js';

/** The cluster's services for a party. */
interface PartyCluster {
  nameOf(address: Address): string;
  send(from: Address, to: Address, message: Message): void;
  /** @returns the event that will wake the machine */
  pushTimer(self: Address, at: Millis, timer: string, key: number): number;
  execute(worker: Address, slot: number, order: TaskOrder): void;
  killTask(worker: Address, slot: number, reason: KillReason): void;
  pauseTask(worker: Address, slot: number): void;
  resumeTask(worker: Address, slot: number): void;
  jobEnded(job: Job): void;
}

/**
 * The environment of machines in a virtual cluster. Many machines share one, as all workers do: it acts for the
 * current machine, so that a step touches only recently used memory.
 */
export class PartyEnvironment implements Environment {
  protected readonly cluster: PartyCluster;
  /** The current machine. */
  self: Address;
  /**
   * Parties of one role share a stream: the seed determines the order of their draws, and 15,000 streams would not
   * fit into a cache.
   */
  readonly #random: Random;
  /** Timer → key → the event that will wake the machine, for each party. Most parties never set one. */
  readonly #armed = new Map<Address, Map<string, Map<number, number>>>();

  constructor(cluster: PartyCluster, self: Address, random: Random) {
    this.cluster = cluster;
    this.self = self;
    this.#random = random;
  }

  random(): number {
    return this.#random.next();
  }

  send(to: Address, message: Message): void {
    this.cluster.send(this.self, to, message);
  }

  setTimer(timer: string, key: number, at: Millis): void {
    if (!(at < Number.POSITIVE_INFINITY)) {
      invariant(!Number.isNaN(at), () => `timer ${timer}/${key} was set to an invalid time`);
      return this.clearTimer(timer, key);
    }
    let timers = this.#armed.get(this.self);
    if (timers === undefined) {
      timers = new Map();
      this.#armed.set(this.self, timers);
    }
    let keys = timers.get(timer);
    if (keys === undefined) {
      keys = new Map();
      timers.set(timer, keys);
    }
    keys.set(key, this.cluster.pushTimer(this.self, at, timer, key));
  }

  clearTimer(timer: string, key: number): void {
    this.#armed.get(this.self)?.get(timer)?.delete(key);
  }

  nameOf(address: Address): string {
    return this.cluster.nameOf(address);
  }

  /**
   * @returns whether the event belongs to an armed timer, which is then disarmed; otherwise the timer was moved or
   * cleared
   */
  takeTimer(timer: string, key: number, event: number): boolean {
    const keys = this.#armed.get(this.self)?.get(timer);
    if (keys?.get(key) !== event) return false;
    keys.delete(key);
    return true;
  }
}

export class CentralParty extends PartyEnvironment implements CentralEnvironment {
  readonly busyMs: (() => Millis) | undefined;
  readonly solve: CentralEnvironment['solve'];
  readonly foresee: CentralEnvironment['foresee'];

  /** @param busyMs unused if work takes no time */
  constructor(
    cluster: PartyCluster,
    self: Address,
    random: Random,
    busyMs: (() => Millis) | undefined,
    solve: CentralEnvironment['solve'],
    foresee: CentralEnvironment['foresee'],
  ) {
    super(cluster, self, random);
    this.busyMs = busyMs;
    this.solve = solve;
    this.foresee = foresee;
  }
}

export class SchedulerParty extends PartyEnvironment implements SchedulerEnvironment {
  estimatorFailed(estimator: string, error: unknown): void {
    estimatorFailed(estimator, error);
  }

  jobEnded(job: Job): void {
    this.cluster.jobEnded(job);
  }

  drained(): void {}
}

export class WorkerParty extends PartyEnvironment implements WorkerEnvironment {
  execute(slot: number, order: TaskOrder): void {
    this.cluster.execute(this.self, slot, order);
  }

  kill(slot: number, reason: KillReason): void {
    this.cluster.killTask(this.self, slot, reason);
  }

  pause(slot: number): void {
    this.cluster.pauseTask(this.self, slot);
  }

  resume(slot: number): void {
    this.cluster.resumeTask(this.self, slot);
  }

  drained(): void {}
}
