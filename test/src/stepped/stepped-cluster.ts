import { Central, type CentralEnvironment } from '@goshawk/central';
import {
  type Address,
  type Attribute,
  type ClusterSettings,
  type Environment,
  type KillReason,
  type Machine,
  type Message,
  type Millis,
  NO_RESOURCES,
  type Outcome,
  type Resources,
  type Role,
  type UserGrants,
} from '@goshawk/core';
import { type Job, Scheduler } from '@goshawk/scheduler';
import { type TaskOrder, Worker } from '@goshawk/worker';
import type { Build, DriverOptions, SteppingDriver } from './driver.js';
import { type Envelope, Network } from './network.js';
import { VirtualDriver } from './virtual-driver.js';

/** The address where all parties register; it leads to the central that is alive, like an endpoint. */
const CENTRAL_ENDPOINT = 0 as Address;

export interface SteppedOptions {
  readonly settings: ClusterSettings;
  readonly seed: string;
  /** Receives all actions of the machines, in order. */
  readonly observer?: Partial<Observer>;
  /** Creates the driver that replaces the simulator. */
  readonly makeDriver?: ((options: DriverOptions) => SteppingDriver) | undefined;
}

interface Observer {
  sent(from: Party, to: Address, message: Message): void;
  executed(worker: Party, slot: number, order: TaskOrder): void;
  killed(worker: Party, slot: number, reason: KillReason): void;
  jobEnded(scheduler: Party, job: Job): void;
  drained(party: Party): void;
}

export interface Party {
  readonly name: string;
  readonly role: Role;
  readonly address: Address;
  readonly machine: Machine;
  readonly environment: Environment;
  alive: boolean;
}

/**
 * A cluster of the real machines in which no event occurs automatically: a test delivers single messages and advances
 * the clock, so every order of events can be reproduced. After each step the machine checks its invariants.
 */
export class SteppedCluster {
  readonly network = new Network();
  readonly parties = new Map<Address, Party>();
  readonly #options: SteppedOptions;
  readonly #observer: Partial<Observer>;
  readonly #driver: SteppingDriver;
  #central: Party | undefined;
  /** Total time that central's process had been busy at that moment, and the fraction of time that it is busy afterwards. */
  #busy: { readonly ms: Millis; readonly at: Millis; readonly share: number } = { ms: 0, at: 0, share: 0 };

  constructor(options: SteppedOptions) {
    const makeDriver = options.makeDriver ?? ((given) => new VirtualDriver(given));
    this.#options = options;
    this.#observer = options.observer ?? {};
    this.#driver = makeDriver({
      seed: options.seed,
      carry: (from, to, message) => this.#carry(from, to, message),
    });
  }

  // ---- parties

  addCentral(name = 'central', users?: UserGrants): Party {
    const { settings } = this.#options;
    return this.#add(name, 'central', (environment, self) => {
      const loaded: CentralEnvironment = { ...environment, busyMs: () => this.#busyMs };
      return new Central({ name: 'central', self, settings, users, overloadedArrivals: 0 }, loaded);
    });
  }

  /** The current process of central is busy for this fraction of the time from now on. */
  loadCentral(share: number): void {
    this.#busy = { ms: this.#busyMs, at: this.now, share };
  }

  get #busyMs(): Millis {
    const { ms, at, share } = this.#busy;
    return ms + share * (this.now - at);
  }

  /** Adds a scheduler without a journal: its jobs are lost when it stops. */
  addScheduler(name: string): Party {
    const { heartbeatMs } = this.#options.settings.timings;
    return this.#add(name, 'scheduler', (environment, self, address) => {
      const config = {
        name: plainName(name),
        self,
        tag: name,
        endpoint: '',
        central: this.#driver.handleOf(CENTRAL_ENDPOINT, address),
        enlistRetryMs: heartbeatMs,
        wallOffsetMs: 0,
        endedJobsMax: 1_000,
        logBytesMax: 1 << 20,
      };
      return new Scheduler(config, {
        ...environment,
        jobEnded: (job) => this.#observer.jobEnded?.(this.party(address), job),
        drained: () => this.#observer.drained?.(this.party(address)),
      });
    });
  }

  addWorker(
    name: string,
    slots = 1,
    capacity: Resources = NO_RESOURCES,
    attributes: readonly Attribute[] = [],
  ): Party {
    const registerRetryMs = this.#options.settings.timings.heartbeatMs;
    const address = this.#driver.addWorker(name, slots, (environment, self, address) => {
      const central = this.#driver.handleOf(CENTRAL_ENDPOINT, address);
      const config = { name: plainName(name), self, slots, capacity, attributes, central, registerRetryMs };
      const worker = new Worker(config, {
        ...environment,
        execute: (slot, order) => {
          this.#observer.executed?.(this.party(address), slot, order);
          environment.execute(slot, order);
        },
        kill: (slot, reason) => {
          this.#observer.killed?.(this.party(address), slot, reason);
          environment.kill(slot, reason);
        },
        pause: (slot) => environment.pause?.(slot),
        resume: (slot) => environment.resume?.(slot),
        drained: () => this.#observer.drained?.(this.party(address)),
      });
      this.#join(name, 'worker', address, environment, worker);
      return worker;
    });
    return this.party(address);
  }

  /** Adds a client or operator outside the cluster; messages to it go to `receive`. */
  addClient(name: string, receive: (from: Party, message: Message) => void = () => {}): Party {
    return this.#add(name, 'client', (_environment, _self, address) => ({
      start() {},
      receive: (from, message) => receive(this.partyMeant(from, this.party(address))!, message),
      wake() {},
      checkInvariants() {},
    }));
  }

  party(address: Address): Party {
    return this.parties.get(address)!;
  }

  /** Returns the party that another party's machine means by an address, if any. */
  partyMeant(handle: Address, by: Party): Party | undefined {
    return this.parties.get(this.#driver.partyOf(handle, by.address));
  }

  get central(): Central {
    return this.#central!.machine as unknown as Central;
  }

  get centralParty(): Party {
    return this.#central!;
  }

  alive(role: Role): Party[] {
    return [...this.parties.values()].filter((party) => party.alive && party.role === role);
  }

  schedulerOf(party: Party): Scheduler {
    return party.machine as unknown as Scheduler;
  }

  workerOf(party: Party): Worker {
    return party.machine as unknown as Worker;
  }

  /** The party stops immediately, as by SIGKILL. Its messages in flight remain. */
  kill(party: Party): void {
    party.alive = false;
    this.#driver.kill(party.address);
  }

  // ---- the network

  /**
   * The connection of one party to another breaks, and the first party notices. Messages in flight between them may
   * arrive or not.
   */
  disconnect(party: Party, from: Party): void {
    const handle = this.#driver.handleOf(from.address, party.address);
    this.step(party, () => party.machine.disconnected?.(handle, this.now));
  }

  /** Delivers the next message from one party to another. */
  deliver(from: Address, to: Address): Envelope | undefined {
    const envelope = this.network.take(from, to);
    if (envelope !== undefined) this.#driver.deliver([envelope]);
    return envelope;
  }

  /** Delivers the chosen messages in flight, but none that is sent during the delivery. */
  deliverAll(isChosen: (envelope: Envelope) => boolean): Envelope[] {
    const chosen = this.network.all().filter(isChosen);
    for (const { from, to } of chosen) this.network.take(from, to);
    this.#driver.deliver(chosen);
    return chosen;
  }

  /** Sends a message as a client or operator would. */
  sendAs(from: Party, to: Party, message: Message): void {
    const handle = this.#driver.handleOf(to.address, from.address);
    this.#driver.enter(from.address, () => from.environment.send(handle, message));
  }

  // ---- time

  get now(): Millis {
    return this.#driver.now;
  }

  /** Advances to a time. Nothing may be due before it. */
  set now(time: Millis) {
    this.#driver.passTo(time);
  }

  /** Time at which the next timer fires or the next task ends. */
  nextEventAt(): Millis {
    return this.#driver.nextEventAt();
  }

  /** Advances the clock to the next timer or end of a task, and runs it. */
  happenNext(): void {
    this.#driver.happenNext();
  }

  /** Calls one entry of a machine, and runs everything that follows without a delay. */
  step(party: Party, entry: () => void): void {
    this.#driver.enter(party.address, entry);
  }

  /** Ends the task in a slot of a worker with this outcome. @returns false if none runs there */
  endTask(worker: Party, slot: number, outcome: Outcome): boolean {
    return this.#driver.endTask(worker.address, slot, outcome);
  }

  close(): void {
    this.#driver.close();
  }

  // ---- effects of machines

  #add(name: string, role: Role, build: Build<Machine<never>>): Party {
    const address = this.#driver.add(name, role, (environment, self, address) => {
      const machine = build(environment, self, address) as Machine;
      this.#join(name, role, address, environment, machine);
      return machine;
    });
    return this.party(address);
  }

  /** Registered before the machine starts, so that its first effects are attributed to it. */
  #join(name: string, role: Role, address: Address, environment: Environment, machine: Machine<never>): void {
    const party: Party = { name, role, address, machine: machine as Machine, environment, alive: true };
    this.parties.set(address, party);
    if (role === 'central') this.#central = party;
  }

  #carry(from: Address, to: Address, message: Message): void {
    const resolved = to === CENTRAL_ENDPOINT ? this.#central?.address : to;
    freeze(message);
    this.#observer.sent?.(this.party(from), resolved ?? to, message);
    if (resolved !== undefined) this.network.send(from, resolved, message, this.now);
  }
}

/**
 * The simulator passes the sender's object to the receiver; a live driver copies it. Neither side may modify it, so
 * that both behave alike.
 */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
}

/** `w1/2` is the second incarnation of w1, and calls itself w1. */
function plainName(name: string): string {
  return name.split('/')[0]!;
}

/** `w1` becomes `w1/2`, and that `w1/3`. */
export function nextIncarnation(name: string): string {
  const [plain, number = '1'] = name.split('/');
  return `${plain}/${Number(number) + 1}`;
}
