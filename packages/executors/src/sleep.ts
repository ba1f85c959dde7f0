import { type KillReason, type SleepPayload, TIMER_MAX_MS } from '@goshawk/core';
import { sleepEnded } from './channels.js';
import type { Executor, Run, RunOrder, RunSink } from './contract.js';

/**
 * Below this, a sleep polls each turn of the event loop: timers have a resolution of 1 ms and may fire 1 ms early, and a
 * second timer would end 1 ms late.
 */
const TURN_BELOW_MS = 0.25;

/** Sleeps end 0 to 1 ms after their time, as far as the event loop is free, and never before it. */
export class SleepExecutor implements Executor {
  readonly #runs = new Set<SleepRun>();

  start(order: RunOrder, sink: RunSink): Run {
    const { sleep: sleepMs } = order.payload as SleepPayload;
    const run = new SleepRun(sleepMs, sink, () => this.#runs.delete(run));
    this.#runs.add(run);
    return run;
  }

  async close(): Promise<void> {
    for (const run of this.#runs) run.kill('shutdown');
  }
}

class SleepRun implements Run {
  #startedAt: number | undefined;
  readonly #sleepMs: number;
  readonly #sink: RunSink;
  readonly #onEnd: () => void;
  #timer: NodeJS.Timeout | undefined;
  #killed: KillReason | undefined;
  #ended = false;

  constructor(sleepMs: number, sink: RunSink, onEnd: () => void) {
    this.#sleepMs = sleepMs;
    this.#sink = sink;
    this.#onEnd = onEnd;
    queueMicrotask(() => {
      if (this.#killed !== undefined) return;
      this.#startedAt = performance.now();
      sink.started?.();
      this.#wait();
    });
  }

  kill(reason: KillReason): void {
    if (this.#ended || this.#killed !== undefined) return;
    this.#killed = reason;
    clearTimeout(this.#timer);
    queueMicrotask(() => this.#end());
  }

  readonly #wait = (): void => {
    if (this.#killed !== undefined) return;
    const remainingMs = this.#startedAt! + this.#sleepMs - performance.now();
    if (remainingMs <= 0) this.#end();
    else if (remainingMs < TURN_BELOW_MS) setImmediate(this.#wait);
    else {
      const delayMs = Math.min(Math.max(1, Math.floor(remainingMs)), TIMER_MAX_MS);
      this.#timer = setTimeout(this.#wait, delayMs);
    }
  };

  #end(): void {
    this.#ended = true;
    this.#onEnd();
    const runMs = this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
    if (this.#killed === undefined) {
      if (sleepEnded.hasSubscribers) {
        sleepEnded.publish({ sleepMs: this.#sleepMs, lateMs: runMs - this.#sleepMs });
      }
      this.#sink.ended({ kind: 'completed' }, runMs);
    } else this.#sink.ended({ kind: 'killed', reason: this.#killed }, runMs);
  }
}
