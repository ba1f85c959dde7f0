import { type KillReason, type Millis, type SleepPayload, TIMER_MAX_MS } from '@goshawk/core';
import { sleepEnded } from './channels.js';
import type { Executor, Run, RunOrder, RunSink } from './contract.js';
import { LiveRuns } from './live-runs.js';

/**
 * A sleep with less time left polls each turn of the event loop: timers have a resolution of 1 ms and may fire 1 ms early, and a
 * second timer would end 1 ms late.
 */
const POLL_BELOW_MS = 0.25;

/** Sleeps end 0 to 1 ms late if the event loop is free, and never early. */
export class SleepExecutor implements Executor {
  readonly #runs = new LiveRuns();

  start({ payload }: RunOrder, sink: RunSink): Run {
    const { sleep: sleepMs } = payload as SleepPayload;
    let startedAt: Millis | undefined;
    let timer: NodeJS.Timeout | undefined;
    let killed: KillReason | undefined;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      this.#runs.delete(live);
      const runMs = startedAt === undefined ? 0 : performance.now() - startedAt;
      if (killed !== undefined) return sink.ended({ kind: 'killed', reason: killed }, runMs);
      if (sleepEnded.hasSubscribers) sleepEnded.publish({ sleepMs, lateMs: runMs - sleepMs });
      sink.ended({ kind: 'completed' }, runMs);
    };
    const wait = (): void => {
      if (killed !== undefined) return;
      const remainingMs = startedAt! + sleepMs - performance.now();
      if (remainingMs <= 0) end();
      else if (remainingMs < POLL_BELOW_MS) setImmediate(wait);
      else timer = setTimeout(wait, Math.min(Math.max(1, Math.floor(remainingMs)), TIMER_MAX_MS));
    };
    const run: Run = {
      kill: (reason) => {
        if (killed !== undefined || isOver) return;
        killed = reason;
        clearTimeout(timer);
        queueMicrotask(end);
      },
    };
    const live = this.#runs.add(run);
    queueMicrotask(() => {
      if (killed !== undefined) return;
      startedAt = performance.now();
      sink.started?.();
      sink.used?.({ cpu: 0, memory: 0 });
      wait();
    });
    return run;
  }

  async close(): Promise<void> {
    for (const run of this.#runs.all()) run.kill('shutdown');
  }
}
