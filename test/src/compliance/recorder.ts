import type { Address, Message, Millis, Outcome } from '@goshawk/core';
import type { TaskOrder } from '@goshawk/worker';
import { expect } from 'vitest';
import type { Driver, TaskEnvironment, TaskMachine } from '../stepped/driver.js';

/** One event that a recorder saw. */
interface RecordedEvent {
  /** `start`, `sweep/3`, `message 7 from w2`, `started 0`, `completed 0`. */
  readonly what: string;
  readonly at: Millis;
  /** The run time, if a run has ended. */
  readonly runMs?: Millis;
  readonly outcome?: Outcome;
}

/** How late a driver may be: Node's timers are up to 1 ms late, and one may be set while another is late. */
export const LATE_MAX_MS = 3;

/**
 * A driver with machines that record their events, and checks that no event disturbs a busy machine or another one,
 * and that time never goes back.
 */
export class TestBench {
  readonly driver: Driver;
  readonly #recorders = new Map<Address, Recorder>();
  #atWork: string | undefined;
  #latest: Millis = 0;

  constructor(driver: Driver) {
    this.driver = driver;
  }

  recorder(name: string, slots = 1): Recorder {
    const address = this.driver.addWorker(name, slots, (environment, _self, address) => {
      const recorder = new Recorder(this, name, address, environment);
      this.#recorders.set(address, recorder);
      return recorder;
    });
    return this.#recorders.get(address)!;
  }

  /** @param forMs an integer, because Node's fake clock truncates fractions */
  run(forMs: Millis): void {
    this.driver.run(forMs);
  }

  nameOf(handle: Address, by: Recorder): string {
    return this.#recorders.get(this.driver.partyOf(handle, by.address))?.name ?? 'somebody else';
  }

  step(recorder: Recorder, what: string, now: Millis, step: () => void): void {
    expect(this.#atWork, `${what} happens to ${recorder.name} during another step`).toBeUndefined();
    expect(now, `the time of ${what} at ${recorder.name}`).toBeGreaterThanOrEqual(this.#latest);
    this.#latest = now;
    this.#atWork = what;
    try {
      step();
    } finally {
      this.#atWork = undefined;
    }
  }
}

/** Records an event, then does what the test requests. */
export class Recorder implements TaskMachine {
  readonly name: string;
  readonly address: Address;
  readonly environment: TaskEnvironment;
  readonly happened: RecordedEvent[] = [];
  /** The sender of each message, as the machine knows it. */
  readonly senders: Address[] = [];
  /** Called at the end of each step. */
  on: (what: string, now: Millis) => void = () => {};
  readonly #bench: TestBench;

  constructor(bench: TestBench, name: string, address: Address, environment: TaskEnvironment) {
    this.#bench = bench;
    this.name = name;
    this.address = address;
    this.environment = environment;
  }

  /** The events since the start, without times. */
  get seen(): string[] {
    return this.happened.slice(1).map(({ what }) => what);
  }

  /** Returns the time of an event, which must have occurred exactly once. */
  timeOf(what: string): Millis {
    const found = this.happened.filter((event) => event.what === what);
    expect(found.length, `how often ${what} happened to ${this.name}`).toBe(1);
    return found[0]!.at;
  }

  /** Checks that the event happened at `at` or slightly later. */
  expectAt(what: string, at: Millis): void {
    const time = this.timeOf(what);
    expect(time, `when ${what} happened to ${this.name}`).toBeGreaterThanOrEqual(at);
    expect(time, `when ${what} happened to ${this.name}`).toBeLessThanOrEqual(at + LATE_MAX_MS);
  }

  /** Lets the machine act in a separate step. */
  do(act: (environment: TaskEnvironment, now: Millis) => void): void {
    const { driver } = this.#bench;
    driver.enter(this.address, (now) =>
      this.#bench.step(this, 'a custom entry', now, () => act(this.environment, now)),
    );
  }

  /** Sends a message that bears a number. */
  write(to: Recorder, number: number): void {
    const handle = this.#bench.driver.handleOf(to.address, this.address);
    this.environment.send(handle, numberedMessage(number));
  }

  start(now: Millis): void {
    this.#happens(now, 'start');
  }

  receive(from: Address, message: Message, now: Millis): void {
    const number = message.type === 'steal' ? message.round : Number.NaN;
    this.senders.push(from);
    this.#happens(now, `message ${number} from ${this.#bench.nameOf(from, this)}`);
  }

  wake(timer: string, key: number, now: Millis): void {
    this.#happens(now, `${timer}/${key}`);
  }

  taskStarted(slot: number, now: Millis): void {
    this.#happens(now, `started ${slot}`);
  }

  taskOutput(slot: number, _stream: 'stdout' | 'stderr', _bytes: Uint8Array, now: Millis): void {
    this.#happens(now, `output ${slot}`);
  }

  taskEnded(slot: number, outcome: Outcome, runMs: Millis, now: Millis): void {
    this.#happens(now, `${outcome.kind} ${slot}`, { runMs, outcome });
  }

  checkInvariants(): void {}

  #happens(now: Millis, what: string, end: Pick<RecordedEvent, 'runMs' | 'outcome'> = {}): void {
    this.#bench.step(this, what, now, () => {
      this.happened.push({ what, at: now, ...end });
      this.on(what, now);
    });
  }
}

/** A message that any worker may send to any other, or itself. */
export function numberedMessage(number: number): Message {
  return { type: 'steal', round: number, attributes: undefined };
}

/** A task that sleeps. */
export function sleepOrder(sleep: Millis, timeoutMs?: Millis): TaskOrder {
  return { payload: { sleep }, jobId: 'j1', task: 0, attempt: 1, long: false, timeoutMs };
}
