import type { Address, Millis, Outcome } from '@goshawk/core';
import type { Executor, Run, RunOrder, Outcome as RunOutcome, RunSink } from '@goshawk/executors';
import type { FakeTime } from './fake-time.js';

/** Runs sleep tasks on a fake clock, and ends them on request. */
export class ClockedExecutor implements Executor {
  readonly #time: FakeTime;
  readonly #beginMs: Millis;
  /** The latest run of each slot of each worker. */
  readonly #runs = new Map<string, ClockedRun>();
  #place = '';

  /** @param beginMs delay until an executor runs the task */
  constructor(time: FakeTime, beginMs: Millis) {
    this.#time = time;
    this.#beginMs = beginMs;
  }

  /** Assigns the runs that `start` begins to this slot, which the executor interface does not carry. */
  inSlot(worker: Address, slot: number, start: () => void): void {
    this.#place = `${worker}/${slot}`;
    start();
  }

  start({ payload }: RunOrder, sink: RunSink): Run {
    const run = new ClockedRun(this.#time, sink, sleepOf(payload));
    if (this.#beginMs === 0) this.#time.soon(() => run.begin());
    else this.#time.at(this.#time.now + this.#beginMs, () => run.begin());
    this.#runs.set(this.#place, run);
    return run;
  }

  /** @returns false if no task runs in the slot */
  endNow(worker: Address, slot: number, outcome: Outcome): boolean {
    return this.#runs.get(`${worker}/${slot}`)?.endNow(runOutcome(outcome)) ?? false;
  }

  async close(): Promise<void> {}
}

class ClockedRun implements Run {
  readonly #time: FakeTime;
  readonly #sink: RunSink;
  readonly #sleepMs: Millis;
  #startedAt: Millis | undefined;
  #isEnding = false;
  #pausedAt: Millis | undefined;
  #pausedMs: Millis = 0;
  /** Cancels its scheduled end. */
  #callOff = () => {};

  constructor(time: FakeTime, sink: RunSink, sleepMs: Millis) {
    this.#time = time;
    this.#sink = sink;
    this.#sleepMs = sleepMs;
  }

  begin(): void {
    if (this.#isEnding) return;
    this.#startedAt = this.#time.now;
    if (this.#pausedAt !== undefined) this.#pausedAt = this.#startedAt;
    this.#sink.started?.();
    this.#continue();
  }

  pause(): void {
    if (this.#isEnding || this.#pausedAt !== undefined) return;
    this.#pausedAt = this.#time.now;
    this.#callOff();
  }

  resume(): void {
    if (this.#isEnding || this.#pausedAt === undefined) return;
    if (this.#startedAt !== undefined) this.#pausedMs += this.#time.now - this.#pausedAt;
    this.#pausedAt = undefined;
    this.#continue();
  }

  #continue(): void {
    if (this.#startedAt === undefined || this.#pausedAt !== undefined) return;
    this.#endAt(this.#startedAt + this.#sleepMs + this.#pausedMs, { kind: 'completed' });
  }

  kill(reason: Parameters<Run['kill']>[0]): void {
    this.endNow({ kind: 'killed', reason });
  }

  /** @returns false if it has ended, or is about to */
  endNow(outcome: RunOutcome): boolean {
    if (this.#isEnding) return false;
    this.resume();
    this.#isEnding = true;
    this.#endAt(this.#time.now, outcome);
    return true;
  }

  #endAt(at: Millis, outcome: RunOutcome): void {
    this.#callOff();
    this.#callOff = this.#time.at(at, () => {
      this.#isEnding = true;
      const runMs = this.#startedAt === undefined ? 0 : this.#time.now - this.#startedAt - this.#pausedMs;
      this.#sink.ended(outcome, runMs);
    });
  }
}

function sleepOf(payload: RunOrder['payload']): Millis {
  if (!('sleep' in payload)) throw new Error('only sleep tasks can run on a fake clock');
  return payload.sleep;
}

function runOutcome({ kind, errorMessage }: Outcome): RunOutcome {
  if (kind === 'completed') return { kind };
  if (kind === 'failed') return { kind, error: { code: 'exit-code', message: errorMessage } };
  throw new Error(`no executor ends a task as ${kind}`);
}
