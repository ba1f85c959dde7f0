import { Central } from '@goshawk/central';
import {
  type Address,
  type ClusterSettings,
  type Environment,
  type Machine,
  type Message,
  type Millis,
  NO_RESOURCES,
  Random,
  type Resources,
  type Role,
} from '@goshawk/core';
import { type Job, Scheduler } from '@goshawk/scheduler';
import { type KillReason, type TaskOrder, Worker } from '@goshawk/worker';
import { type CourseOf, SteppedExecutor, sleepCourse } from './executor.js';
import { type Envelope, Network } from './network.js';

/** Where everybody registers: whichever central is alive stands behind it, as behind an endpoint. */
export const CENTRAL_DOOR = 0 as Address;

export interface SteppedOptions {
  readonly settings: ClusterSettings;
  readonly seed: string;
  readonly courseOf?: CourseOf;
  readonly killMs?: () => Millis;
  /** Hears of everything that the machines do to the world, in order. */
  readonly observer?: Partial<Observer>;
}

export interface Observer {
  sent(from: Party, to: Address, message: Message): void;
  executed(worker: Party, slot: number, order: TaskOrder): void;
  killed(worker: Party, slot: number, reason: KillReason): void;
  jobEnded(scheduler: Party, job: Job): void;
  drained(party: Party): void;
  /** A machine has made a step, and its invariants hold. */
  stepped(party: Party): void;
}

interface Timer {
  readonly timer: string;
  readonly key: number;
  readonly at: Millis;
  readonly sequence: number;
}

export interface Party {
  readonly name: string;
  readonly role: Role;
  readonly address: Address;
  readonly machine: Machine;
  readonly timers: Map<string, Timer>;
  readonly executor: SteppedExecutor | undefined;
  alive: boolean;
}

/**
 * A cluster of the real machines in which nothing happens by itself: whoever holds it says which message is
 * delivered next and how far the clock goes. So every order of events can be had, and had again. After each
 * step the machine that made it checks its invariants.
 */
export class SteppedCluster {
  readonly network = new Network();
  readonly parties = new Map<Address, Party>();
  now: Millis = 0;
  readonly #options: SteppedOptions;
  readonly #random: Random;
  readonly #observer: Partial<Observer>;
  /** What a step has set off and is still to be told to its machine, as by a queue of events. */
  readonly #afterStep: (() => void)[] = [];
  #nextAddress = 1;
  #sequence = 0;
  #central: Party | undefined;
  #stepping = false;

  constructor(options: SteppedOptions) {
    this.#options = options;
    this.#random = Random.seeded(options.seed);
    this.#observer = options.observer ?? {};
  }

  // ---- who is there

  addCentral(name = 'central'): Party {
    const { settings } = this.#options;
    const party = this.#add(
      name,
      'central',
      (self, env) => new Central({ name: 'central', self, settings }, env),
    );
    this.#central = party;
    return this.#start(party);
  }

  addScheduler(name: string): Party {
    const { heartbeatMs } = this.#options.settings.timings;
    const party: Party = this.#add(name, 'scheduler', (self, env) => {
      const config = {
        name: plainName(name),
        self,
        tag: name,
        endpoint: '',
        central: CENTRAL_DOOR,
        enlistRetryMs: heartbeatMs,
        wallOffsetMs: 0,
        endedJobsMax: 1_000,
        logBytesMax: 1 << 20,
      };
      const jobEnded = (job: Job) => this.#observer.jobEnded?.(party, job);
      return new Scheduler(config, { ...env, jobEnded, drained: () => this.#observer.drained?.(party) });
    });
    return this.#start(party);
  }

  addWorker(name: string, slots = 1, capacity: Resources = NO_RESOURCES): Party {
    const registerRetryMs = this.#options.settings.timings.heartbeatMs;
    const executor = new SteppedExecutor(
      this.#options.courseOf ?? sleepCourse,
      this.#options.killMs ?? (() => 0),
    );
    const party: Party = this.#add(
      name,
      'worker',
      (self, env) => {
        const config = {
          name: plainName(name),
          self,
          slots,
          capacity,
          central: CENTRAL_DOOR,
          registerRetryMs,
        };
        return new Worker(config, {
          ...env,
          execute: (slot, order) => this.#execute(party, slot, order),
          kill: (slot, reason) => {
            this.#observer.killed?.(party, slot, reason);
            executor.kill(slot, reason, this.now);
          },
          drained: () => this.#observer.drained?.(party),
        });
      },
      executor,
    );
    return this.#start(party);
  }

  /** Somebody outside the cluster; what is sent to them is handed to `receive`. */
  addClient(name: string, receive: (from: Party, message: Message) => void = () => {}): Party {
    const outsider: Machine = {
      start() {},
      receive: (from, message) => receive(this.party(from), message),
      wake() {},
      checkInvariants() {},
    };
    return this.#add(name, 'client', () => outsider);
  }

  party(address: Address): Party {
    return this.parties.get(address)!;
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

  /** The party stops where it stands, as by SIGKILL. What it has sent is still on its way. */
  kill(party: Party): void {
    party.alive = false;
  }

  // ---- the network

  /** Delivers the next message from one party to another. */
  deliver(from: Address, to: Address): Envelope | undefined {
    const envelope = this.network.take(from, to);
    if (envelope !== undefined) this.handOver(envelope);
    return envelope;
  }

  /** Delivers a message whether or not it is on its way. */
  handOver({ from, to, message }: Envelope): void {
    const party = this.parties.get(to);
    if (party?.alive) this.step(party, () => party.machine.receive(from, message, this.now));
  }

  /** Sends as somebody outside would. */
  sendAs(from: Party, to: Party, message: Message): void {
    this.#send(from, to.address, message);
  }

  // ---- time

  /** When the next timer goes off or the next task ends. */
  nextEventAt(): Millis {
    let at = Number.POSITIVE_INFINITY;
    for (const party of this.parties.values()) {
      if (!party.alive) continue;
      for (const timer of party.timers.values()) at = Math.min(at, timer.at);
      at = Math.min(at, party.executor?.next()?.endsAt ?? at);
    }
    return at;
  }

  /** Moves the clock to the next timer or end of a task, and lets it happen. */
  happenNext(): void {
    this.now = Math.max(this.now, this.nextEventAt());
    for (const party of this.parties.values()) {
      if (!party.alive) continue;
      const task = party.executor?.next();
      if (task !== undefined && task.endsAt <= this.now) return this.#endTask(party, task.slot);
    }
    const due = [...this.parties.values()]
      .filter((party) => party.alive)
      .flatMap((party) => [...party.timers.values()].map((timer) => ({ party, timer })))
      .filter(({ timer }) => timer.at <= this.now)
      .sort((one, other) => one.timer.at - other.timer.at || one.timer.sequence - other.timer.sequence);
    const first = due[0];
    if (first === undefined) return;
    const { party, timer } = first;
    party.timers.delete(`${timer.timer}/${timer.key}`);
    this.step(party, () => party.machine.wake(timer.timer, timer.key, this.now));
  }

  /** Lets something happen to a machine through one of its doors, with all that follows at once. */
  step(party: Party, door: () => void): void {
    if (this.#stepping) throw new Error(`${party.name} was entered while another machine was at work`);
    this.#stepping = true;
    try {
      door();
      for (let next = this.#afterStep.shift(); next !== undefined; next = this.#afterStep.shift()) next();
      if (party.role === 'central') this.central.checkInvariants(this.now);
      else party.machine.checkInvariants();
    } finally {
      this.#stepping = false;
    }
    this.#observer.stepped?.(party);
  }

  // ---- what machines do

  #add(
    name: string,
    role: Role,
    build: (self: Address, env: Environment) => unknown,
    executor?: SteppedExecutor,
  ): Party {
    const address = this.#nextAddress++ as Address;
    const random = this.#random.fork(name);
    const timers = new Map<string, Timer>();
    const env: Environment = {
      random: () => random.next(),
      send: (to, message) => this.#send(party, to, message),
      setTimer: (timer, key, at) =>
        timers.set(`${timer}/${key}`, { timer, key, at, sequence: this.#sequence++ }),
      clearTimer: (timer, key) => timers.delete(`${timer}/${key}`),
      nameOf: (of) => this.parties.get(of)?.name ?? `nobody (${of})`,
    };
    const machine = build(address, env) as Machine;
    const party: Party = { name, role, address, machine, timers, executor, alive: true };
    this.parties.set(address, party);
    return party;
  }

  #start(party: Party): Party {
    this.step(party, () => party.machine.start(this.now));
    return party;
  }

  #send(from: Party, to: Address, message: Message): void {
    const resolved = to === CENTRAL_DOOR ? this.#central?.address : to;
    this.#observer.sent?.(from, resolved ?? to, message);
    if (resolved !== undefined) this.network.send(from.address, resolved, message, this.now);
  }

  #execute(party: Party, slot: number, order: TaskOrder): void {
    this.#observer.executed?.(party, slot, order);
    party.executor!.start(slot, order, this.now);
    this.#afterStep.push(() => this.workerOf(party).taskStarted(slot, this.now));
  }

  #endTask(party: Party, slot: number): void {
    const { outcome, runMs } = party.executor!.finish(slot, this.now);
    this.step(party, () => this.workerOf(party).taskEnded(slot, outcome, runMs, this.now));
  }
}

/** `w1/2` is the second incarnation of w1, and calls itself w1. */
function plainName(name: string): string {
  return name.split('/')[0]!;
}
