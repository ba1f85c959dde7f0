import { type KillReason, type SleepPayload, TIMER_MAX_MS } from '@goshawk/core';
import { sleepEnded } from './channels.js';
import type { Executor, Run, RunOrder, RunSink } from './contract.js';
import { LiveRuns } from './live-runs.js';
import { RunClock } from './run-clock.js';

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
    const clock = new RunClock();
    let timer: NodeJS.Timeout | undefined;
    let immediate: NodeJS.Immediate | undefined;
    let killed: KillReason | undefined;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      this.#runs.delete(live);
      const { runMs } = clock;
      if (killed !== undefined) return sink.ended({ kind: 'killed', reason: killed }, runMs);
      if (sleepEnded.hasSubscribers) sleepEnded.publish({ sleepMs, lateMs: runMs - sleepMs });
      sink.ended({ kind: 'completed' }, runMs);
    };
    const schedule = (remainingMs: number): void => {
      if (remainingMs < POLL_BELOW_MS) immediate = setImmediate(wait);
      else timer = setTimeout(wait, Math.min(Math.max(1, Math.floor(remainingMs)), TIMER_MAX_MS));
    };
    const wait = (): void => {
      if (killed !== undefined || clock.isPaused) return;
      const remainingMs = sleepMs - clock.runMs;
      if (remainingMs <= 0) end();
      else schedule(remainingMs);
    };
    const unschedule = (): void => {
      clearTimeout(timer);
      clearImmediate(immediate);
    };
    const run: Run = {
      kill: (reason) => {
        if (killed !== undefined || isOver) return;
        killed = reason;
        clock.resume();
        unschedule();
        queueMicrotask(end);
      },
      pause: () => {
        if (killed === undefined && !isOver && clock.pause()) unschedule();
      },
      resume: () => {
        if (!clock.resume() || killed !== undefined || isOver || !clock.hasStarted) return;
        schedule(sleepMs - clock.runMs);
      },
    };
    const live = this.#runs.add(run);
    queueMicrotask(() => {
      if (killed !== undefined) return;
      clock.start();
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
