import { availableParallelism } from 'node:os';
import type { ExecPayload, KillReason } from '@goshawk/core';
import { type Executor, failed, type Run, type RunOrder, type RunSink, refused } from './contract.js';
import { WARM_IDLE_MAX_PER_CPU, WARM_IDLE_MS, WARM_PAUSE_MS } from './limits.js';
import { checkExec } from './payload.js';
import { type WarmCall, WarmProcess } from './warm-process.js';

/**
 * Runs commands with `warm`, whose processes stay for further calls: one process at a time for each call, and one pool for each command,
 * folder, environment, user and limits. A process that fails, is killed or reports leftovers of a call is replaced.
 */
export class WarmExecutor implements Executor {
  readonly #exec: Executor;
  /** Idle processes, the longest idle first. Calls get the last one, whose memory is still in the caches. */
  readonly #idle = new Set<WarmProcess>();
  readonly #all = new Set<WarmProcess>();
  readonly #idleMax = WARM_IDLE_MAX_PER_CPU * availableParallelism();
  readonly #running = new Map<WarmCall, WarmProcess>();
  #sweep: NodeJS.Timeout | undefined;
  #onGone: (() => void) | undefined;

  readonly #values: string | undefined;
  readonly #valueBytesMax: number;
  readonly #isIsolated: boolean;

  /**
   * @param exec runs the processes; its owner closes it
   * @param valueBytesMax maximum size of a call's value as JSON
   * @param values folder for large values
   * @param isIsolated whether the processes do not see the folder
   */
  constructor(exec: Executor, valueBytesMax: number, values?: string, isIsolated = false) {
    this.#exec = exec;
    this.#valueBytesMax = valueBytesMax;
    this.#values = values;
    this.#isIsolated = isIsolated;
  }

  /** @throws BadPayload, which executors.ts turns into a failed run */
  start(order: RunOrder, given: RunSink): Run {
    checkExec(order.payload as ExecPayload);
    let killedFor: KillReason | undefined;
    const sink: RunSink = {
      started: () => given.started?.(),
      output: (chunk) => given.output(chunk),
      used: (usage) => given.used?.(usage),
      ended: (...end) => {
        this.#running.delete(call);
        given.ended(...end);
      },
    };
    const call: WarmCall = { order, sink, startedAt: undefined, isPaused: false };
    // The sink is called only after this call has returned.
    queueMicrotask(() => {
      if (killedFor === undefined) this.#begin(call);
      else given.ended({ kind: 'killed', reason: killedFor }, 0);
    });
    return {
      kill: (reason) => {
        killedFor ??= reason;
        this.#running.get(call)?.kill(reason);
      },
      pause: () => {
        if (call.isPaused || killedFor !== undefined) return;
        call.isPaused = true;
        this.#running.get(call)?.pause();
      },
      resume: () => {
        if (!call.isPaused) return;
        call.isPaused = false;
        this.#running.get(call)?.resume();
      },
    };
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweep);
    for (const process of this.#idle) process.retire();
    if (this.#all.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onGone = resolve;
    });
  }

  #begin(call: WarmCall): void {
    const key = keyOf(call.order);
    const process = [...this.#idle].findLast((idle) => idle.key === key);
    if (process !== undefined) {
      this.#idle.delete(process);
      this.#running.set(call, process);
      process.start(call);
      if (call.isPaused) process.pause();
      return;
    }
    const [oldest] = this.#idle;
    if (oldest !== undefined && this.#idle.size >= this.#idleMax) oldest.retire();
    try {
      // A container does not show the folder either.
      const isServed = this.#isIsolated || (call.order.payload as ExecPayload).image !== undefined;
      const values = this.#values === undefined ? undefined : { folder: this.#values, isServed };
      const process = new WarmProcess(key, call, this.#exec, values, this.#valueBytesMax, {
        idle: (idle) => this.#rest(idle),
        spent: (spent) => this.#idle.delete(spent),
        gone: (gone) => {
          this.#all.delete(gone);
          if (this.#all.size === 0) this.#onGone?.();
        },
        again: (again) => this.#begin(again),
      });
      this.#all.add(process);
      this.#running.set(call, process);
      if (call.isPaused) process.pause();
    } catch (error) {
      const what = `cannot create the socket of a process: ${(error as Error).message}`;
      refused(failed('spawn-failed', what), call.sink);
    }
  }

  #rest(process: WarmProcess): void {
    this.#idle.add(process);
    if (process.isRestless) process.pause();
    this.#sweep ??= setTimeout(() => this.#sweepIdle(), WARM_PAUSE_MS).unref();
  }

  /** Stops processes that have been idle, so that what their calls left uses no CPU, and ends those idle for long. */
  #sweepIdle(): void {
    this.#sweep = undefined;
    const now = performance.now();
    for (const process of this.#idle) {
      if (process.idleSince <= now - WARM_IDLE_MS) process.retire();
      else if (process.idleSince <= now - WARM_PAUSE_MS) process.pause();
    }
    if (this.#idle.size > 0) this.#sweep = setTimeout(() => this.#sweepIdle(), WARM_PAUSE_MS).unref();
  }
}

/** Calls with the same key may share a process. */
function keyOf({ payload, env, limits, user }: RunOrder): string {
  const { exec, cwd, env: variables, image } = payload as ExecPayload;
  const gpus = [env.GOSHAWK_GPUS, env.CUDA_VISIBLE_DEVICES];
  return JSON.stringify([exec, cwd, variables, image, limits, user, gpus]);
}
