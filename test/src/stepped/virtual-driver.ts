import {
  type Address,
  DEFAULT_POLICY,
  type Environment,
  type Machine,
  type Millis,
  type Outcome,
  RELIABLE_TIMINGS,
  type Role,
} from '@goshawk/core';
import { type NetworkModel, VirtualCluster } from '@goshawk/simulator';
import {
  type Build,
  type DriverOptions,
  runStepping,
  type SentMessage,
  type SteppingDriver,
  type TaskEnvironment,
  type TaskMachine,
} from './driver.js';
import { watched, watchedWorker } from './watched.js';

interface VirtualDriverOptions extends DriverOptions {
  /** The network of the driver's own messages. */
  readonly network?: NetworkModel;
}

/** The tasks of a worker. */
interface Tasks {
  readonly environment: TaskEnvironment;
  readonly running: Set<number>;
  /** The outcome of a task that the test ends; a virtual cluster only knows sleep tasks and kills. */
  readonly outcomes: Map<number, Outcome>;
}

/** The simulator, controlled by the test. */
export class VirtualDriver implements SteppingDriver {
  readonly #cluster: VirtualCluster;
  readonly #machines = new Map<Address, Machine>();
  readonly #tasks = new Map<Address, Tasks>();
  /** Messages that were handed to machines. */
  #arrived = 0;

  constructor(options: VirtualDriverOptions) {
    const { seed, carry, network = NO_DELAY } = options;
    this.#cluster = new VirtualCluster({
      // The simulator's own central is unused: no party knows its address, and it only reacts to messages.
      workers: 0,
      schedulers: 0,
      settings: { policy: DEFAULT_POLICY, timings: RELIABLE_TIMINGS },
      seed,
      network,
      ...(carry === undefined ? {} : { carry }),
    });
  }

  get now(): Millis {
    return this.#cluster.now;
  }

  add(name: string, _role: Role, build: Build<Machine>): Address {
    return this.#cluster.add(name, (self, environment) => {
      const machine = build(plain(environment), self, self);
      return this.#join(self, watched(machine));
    });
  }

  addWorker(name: string, slots: number, build: Build<TaskMachine, TaskEnvironment>): Address {
    return this.#cluster.addWorker(name, slots, (self, environment) => {
      const tasks: Tasks = { environment, running: new Set(), outcomes: new Map() };
      this.#tasks.set(self, tasks);
      const machine = build(withTasks(tasks), self, self);
      return this.#join(self, watchedWorker(endingAsScripted(machine, tasks)));
    });
  }

  handleOf(party: Address): Address {
    return party;
  }

  partyOf(handle: Address): Address {
    return handle;
  }

  enter(party: Address, entry: (now: Millis) => void): void {
    let isDone = false;
    this.#cluster.at(this.now, (now) => {
      isDone = true;
      entry(now);
      this.#machines.get(party)?.checkInvariants();
    });
    // Events that are already due happen first.
    while (!isDone) this.#cluster.step();
    this.#cluster.settle();
  }

  kill(party: Address): void {
    this.#machines.delete(party);
    this.#cluster.kill(party);
  }

  endTask(worker: Address, slot: number, outcome: Outcome): boolean {
    const { environment, running, outcomes } = this.#tasks.get(worker)!;
    if (!running.has(slot)) return false;
    outcomes.set(slot, outcome);
    environment.kill(slot, 'cancelled');
    return true;
  }

  run(forMs: Millis): void {
    runStepping(this, forMs);
  }

  nextEventAt(): Millis {
    return this.#cluster.nextEventAt;
  }

  happenNext(): void {
    this.#cluster.step();
    this.#cluster.settle();
  }

  passTo(time: Millis): void {
    this.#cluster.run(time);
  }

  deliver(messages: readonly SentMessage[]): void {
    const arriving = messages.filter(({ to }) => this.#machines.has(to));
    const last = this.#arrived + arriving.length;
    for (const { from, to, message } of arriving) this.#cluster.post(from, to, message);
    while (this.#arrived < last) this.happenNext();
  }

  close(): void {}

  #join<M extends Machine>(self: Address, machine: M): M {
    const receive: Machine['receive'] = (from, message, now) => {
      this.#arrived++;
      machine.receive(from, message, now);
    };
    this.#machines.set(self, machine);
    return { ...machine, receive };
  }
}

function withTasks({ environment, running }: Tasks): TaskEnvironment {
  return {
    ...plain(environment),
    execute: (slot, order) => {
      running.add(slot);
      environment.execute(slot, order);
    },
    kill: (slot, reason) => environment.kill(slot, reason),
    pause: (slot) => environment.pause?.(slot),
    resume: (slot) => environment.resume?.(slot),
  };
}

function endingAsScripted(machine: TaskMachine, { running, outcomes }: Tasks): TaskMachine {
  return {
    start: (now) => machine.start(now),
    receive: (from, message, now) => machine.receive(from, message, now),
    wake: (timer, key, now) => machine.wake(timer, key, now),
    checkInvariants: () => machine.checkInvariants(),
    taskStarted: (slot, now) => machine.taskStarted(slot, now),
    taskOutput: (slot, stream, bytes, now) => machine.taskOutput(slot, stream, bytes, now),
    taskEnded: (slot, outcome, runMs, now) => {
      const scripted = outcomes.get(slot);
      outcomes.delete(slot);
      running.delete(slot);
      machine.taskEnded(slot, scripted ?? outcome, runMs, now);
    },
  };
}

/** Copies the environment so that its functions can be destructured. */
function plain(environment: Environment): Environment {
  return {
    random: () => environment.random(),
    send: (to, message) => environment.send(to, message),
    setTimer: (timer, key, at) => environment.setTimer(timer, key, at),
    clearTimer: (timer, key) => environment.clearTimer(timer, key),
    nameOf: (address) => environment.nameOf(address),
  };
}

const NO_DELAY: NetworkModel = { kind: 'constant', delayMs: 0 };
