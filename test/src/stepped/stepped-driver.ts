import {
  type Address,
  type Environment,
  invariant,
  type Machine,
  type Message,
  type Millis,
  type Outcome,
  Random,
  type Role,
} from '@goshawk/core';
import { Calendar, type Event } from './calendar.js';
import {
  type Build,
  type DriverOptions,
  type Letter,
  runStepping,
  type SteppingDriver,
  type TaskEnvironment,
  type TaskMachine,
} from './driver.js';
import { SteppedExecutor } from './executor.js';

interface Party {
  readonly name: string;
  readonly address: Address;
  machine: Machine;
  readonly timers: Map<string, Event>;
  executor?: SteppedExecutor;
  alive: boolean;
}

/**
 * The plainest driver there can be: what the others promise, without their speed, their sockets and their
 * clocks. After each step the machine that made it checks its invariants.
 */
export class SteppedDriver implements SteppingDriver {
  readonly #options: DriverOptions;
  readonly #random: Random;
  readonly #calendar = new Calendar();
  readonly #parties = new Map<Address, Party>();
  /** What a step has set off and is still to be told to its machine. */
  readonly #afterStep: (() => void)[] = [];
  #nextAddress = 1;
  #stepping = false;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.#random = Random.seeded(options.seed);
  }

  get now(): Millis {
    return this.#calendar.now;
  }

  add(name: string, _role: Role, build: Build<Machine>): Address {
    return this.#add(name, (party) => build(this.#environmentOf(party), party.address, party.address));
  }

  addWorker(name: string, _slots: number, build: Build<TaskMachine, TaskEnvironment>): Address {
    return this.#add(name, (party) => {
      const executor = new SteppedExecutor(this.#calendar, (slot, outcome, runMs) =>
        this.#step(party, (now) => machine.taskEnded(slot, outcome, runMs, now)),
      );
      party.executor = executor;
      const environment: TaskEnvironment = {
        ...this.#environmentOf(party),
        execute: (slot, order) => {
          const isCurrent = executor.start(slot, order);
          this.#afterStep.push(() => {
            if (isCurrent()) machine.taskStarted(slot, this.now);
          });
        },
        kill: (slot, reason) => executor.kill(slot, reason),
      };
      const machine = build(environment, party.address, party.address);
      return machine;
    });
  }

  handleOf(party: Address): Address {
    return party;
  }

  partyOf(handle: Address): Address {
    return handle;
  }

  enter(address: Address, entry: (now: Millis) => void): void {
    this.#step(this.#parties.get(address)!, entry);
  }

  kill(address: Address): void {
    const party = this.#parties.get(address)!;
    party.alive = false;
    party.executor?.forget();
    for (const timer of party.timers.values()) timer.isOff = true;
    party.timers.clear();
  }

  endTask(worker: Address, slot: number, outcome: Outcome): boolean {
    return this.#parties.get(worker)!.executor!.endNow(slot, outcome);
  }

  run(forMs: Millis): void {
    runStepping(this, forMs);
  }

  nextEventAt(): Millis {
    return this.#calendar.nextAt;
  }

  happenNext(): void {
    this.#calendar.happenNext();
  }

  passTo(time: Millis): void {
    this.#calendar.passTo(time);
  }

  deliver(letters: readonly Letter[]): void {
    for (const { from, to, message } of letters) {
      const party = this.#parties.get(to);
      if (party?.alive) this.#step(party, (now) => party.machine.receive(from, message, now));
    }
  }

  close(): void {}

  #add(name: string, build: (party: Party) => Machine): Address {
    const address = this.#nextAddress++ as Address;
    const party: Party = { name, address, machine: NO_MACHINE, timers: new Map(), alive: true };
    this.#parties.set(address, party);
    party.machine = build(party);
    this.#step(party, (now) => party.machine.start(now));
    return address;
  }

  #environmentOf(party: Party): Environment {
    const random = this.#random.fork(party.name);
    return {
      random: () => random.next(),
      send: (to, message) => this.#send(party.address, to, message),
      setTimer: (timer, key, at) => this.#setTimer(party, timer, key, at),
      clearTimer: (timer, key) => clearTimer(party, `${timer}/${key}`),
      nameOf: (address) => this.#parties.get(address)?.name ?? `nobody (${address})`,
    };
  }

  #send(from: Address, to: Address, message: Message): void {
    if (this.#options.carry === undefined) {
      this.#calendar.put(this.now, () => this.deliver([{ from, to, message }]));
    } else this.#options.carry(from, to, message);
  }

  #setTimer(party: Party, timer: string, key: number, at: Millis): void {
    invariant(!Number.isNaN(at), () => `timer ${timer}/${key} was set to no time`);
    const name = `${timer}/${key}`;
    clearTimer(party, name);
    const wake = () => {
      party.timers.delete(name);
      this.#step(party, (now) => party.machine.wake(timer, key, now));
    };
    party.timers.set(name, this.#calendar.put(at, wake));
  }

  /** Lets something happen to a machine through one of its entries, with all that follows at once. */
  #step(party: Party, entry: (now: Millis) => void): void {
    if (this.#stepping) throw new Error(`${party.name} was entered while another machine was at work`);
    this.#stepping = true;
    try {
      entry(this.now);
      party.machine.settle?.(this.now);
      for (let next = this.#afterStep.shift(); next !== undefined; next = this.#afterStep.shift()) next();
      party.machine.checkInvariants();
    } finally {
      this.#stepping = false;
    }
  }
}

function clearTimer({ timers }: Party, name: string): void {
  const timer = timers.get(name);
  if (timer === undefined) return;
  timer.isOff = true;
  timers.delete(name);
}

/** In place of one that is being built. */
const NO_MACHINE: Machine = { start() {}, receive() {}, wake() {}, checkInvariants() {} };
