import type { Address, Environment, Machine, Message, Millis, Outcome, Role } from '@goshawk/core';
import type { Worker, WorkerEnvironment } from '@goshawk/worker';

/** A machine that runs tasks, with the entry points that report their progress. */
export type TaskMachine = Machine & Pick<Worker, 'taskStarted' | 'taskOutput' | 'taskEnded'>;

/** The environment that every driver gives a machine that runs tasks. */
export type TaskEnvironment = Environment & Pick<WorkerEnvironment, 'execute' | 'kill' | 'pause' | 'resume'>;

/**
 * @param self address by which the machine knows itself
 * @param address by which the driver knows it
 */
export type Build<M, E = Environment> = (environment: E, self: Address, address: Address) => M;

export interface DriverOptions {
  readonly seed: string;
  /**
   * Receives each message in place of the driver's mail, as soon as it is sent. `deliver` takes the messages that
   * arrive. Parties in messages have the driver's names.
   */
  readonly carry?: ((from: Address, to: Address, message: Message) => void) | undefined;
}

/**
 * A driver of machines controlled by the test: no event occurs without a call. Each process has separate addresses
 * for the parties.
 */
export interface Driver {
  readonly now: Millis;
  /** Adds a machine and starts it. */
  add(name: string, role: Role, build: Build<Machine>): Address;
  /** Like `add`, for a machine that runs tasks in slots 0 … slots − 1. Tasks are `{ sleep }`, in ms. */
  addWorker(name: string, slots: number, build: Build<TaskMachine, TaskEnvironment>): Address;
  /** Returns the address by which the machine at `by` knows a party, even if the party does not exist. */
  handleOf(party: Address, by: Address): Address;
  /** Returns the party that the machine at `by` means by an address. */
  partyOf(handle: Address, by: Address): Address;
  /** Calls an entry of a machine that only its kind has. */
  enter(party: Address, entry: (now: Millis) => void): void;
  /** The party stops immediately, as by SIGKILL. */
  kill(party: Address): void;
  /** Advances the clock, and runs all events until then. */
  run(forMs: Millis): void;
  close(): void;
}

export interface SentMessage {
  readonly from: Address;
  readonly to: Address;
  readonly message: Message;
}

/** A driver that can advance from event to event. */
export interface SteppingDriver extends Driver {
  /** Time of the next event: a timer, the end of a task, or mail of the driver. */
  nextEventAt(): Millis;
  /** Advances the clock to the next event, and runs it. */
  happenNext(): void;
  /** Moves the clock to a time before the next event. */
  passTo(time: Millis): void;
  /** Delivers messages in one turn. Messages for a dead party are dropped. */
  deliver(messages: readonly SentMessage[]): void;
  /** Ends the task in a slot with this outcome. @returns false if none runs there */
  endTask(worker: Address, slot: number, outcome: Outcome): boolean;
}

/** Advances the clock of a stepping driver, and runs the events that are due. */
export function runStepping(driver: SteppingDriver, forMs: Millis): void {
  const until = driver.now + forMs;
  while (driver.nextEventAt() <= until) driver.happenNext();
  driver.passTo(until);
}
