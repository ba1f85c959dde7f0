import type { Millis } from '@goshawk/core';
import { type Executor, SleepExecutor } from '@goshawk/executors';
import type { Alarm } from '@goshawk/runtime';
import { vi } from 'vitest';
import { ClockedExecutor } from './clocked-executor.js';
import { FakeTime } from './fake-time.js';

/** The dependencies of real-time hosts: a clock, an event loop, and executors. */
export interface World {
  readonly executor: Executor;
  clock(): Millis;
  /** Creates the alarm of one host; undefined selects Node's. */
  alarm(): Alarm | undefined;
  /** Something that happens in a turn of the event loop. */
  turn(happen: () => void): void;
  /** Sends a message to another process: soon, in a separate turn. */
  travel(arrive: () => void): void;
  /** Mail for the same process. */
  loopBack(arrive: () => void): void;
  run(forMs: Millis): void;
  close(): void;
}

/** A clock whose events are never late, and that a test advances from event to event. */
export class FakeWorld implements World {
  readonly time = new FakeTime();
  readonly executor: ClockedExecutor;

  /** @param beginMs delay from the order to run a task to its start */
  constructor(beginMs: Millis = 0) {
    this.executor = new ClockedExecutor(this.time, beginMs);
  }

  clock(): Millis {
    return this.time.now;
  }

  alarm(): Alarm {
    return this.time.alarm();
  }

  turn(happen: () => void): void {
    this.time.turn(happen);
  }

  travel(arrive: () => void): void {
    this.time.at(this.time.now, arrive);
  }

  /** Delivers within the call that sends it; a host delays it until its machine has returned. */
  loopBack(arrive: () => void): void {
    arrive();
  }

  run(forMs: Millis): void {
    const until = this.time.now + forMs;
    while (this.time.nextAt <= until) this.time.happenNext();
    this.time.passTo(until);
  }

  close(): void {}
}

/** The daemons' environment on Node's timers as vitest fakes them: whole milliseconds, never zero. */
export class NodeWorld implements World {
  readonly executor = new SleepExecutor();

  constructor() {
    vi.useFakeTimers({
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setImmediate',
        'clearImmediate',
        'queueMicrotask',
        'performance',
      ],
    });
  }

  clock(): Millis {
    return performance.now();
  }

  alarm(): undefined {}

  turn(happen: () => void): void {
    happen();
    vi.runAllTicks();
  }

  travel(arrive: () => void): void {
    setImmediate(arrive);
  }

  loopBack(arrive: () => void): void {
    setImmediate(arrive);
  }

  run(forMs: Millis): void {
    vi.advanceTimersByTime(forMs);
  }

  close(): void {
    vi.useRealTimers();
  }
}
