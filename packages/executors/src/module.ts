import type { KillReason, ModulePayload } from '@goshawk/core';
import {
  type Executor,
  type FailedOutcome,
  failed,
  type Outcome,
  type OutputStream,
  type Run,
  type RunOrder,
  type RunSink,
} from './contract.js';
import { CLOSE_MARGIN_MS, STUCK_THREADS_MAX } from './limits.js';
import { ModuleMemory } from './module-memory.js';
import type { FromRun, ThreadOrder, ThreadResult } from './module-protocol.js';
import { tailChunks } from './output-limit.js';
import { OutputTail } from './output-tail.js';
import { modulePath } from './payload.js';
import { RunClock } from './run-clock.js';
import { ThreadLink } from './thread-link.js';

interface ModuleExecutorOptions {
  readonly threads: number;
  readonly heapMiBMax: number;
  /** Memory that this process may use. */
  readonly allowedBytes: number;
  readonly valueBytesMax: number;
  /** Time between the abort signal, for a run that listens, and the end of its thread. */
  readonly graceMs: number;
  /** The worker's variables that modules see. */
  readonly environment: Readonly<Record<string, string>>;
  /** Returns why a module is refused; evaluated when its turn comes. */
  refusal(path: string): string | undefined;
  /** Called with one line for the log about each fault of the worker or its machine. */
  readonly warn: (message: string) => void;
}

/** Runs modules in threads, which start on demand and end after an idle timeout. */
export class ModuleExecutor implements Executor {
  readonly #options: ModuleExecutorOptions;
  /** Waiting runs, in order of arrival. */
  #waiting = new Set<ModuleRun>();
  readonly #threads = new Set<ThreadLink>();
  /** All threads, including those that will end once a native call returns. */
  readonly #alive = new Set<ThreadLink>();

  readonly #memory: ModuleMemory;

  constructor(options: ModuleExecutorOptions) {
    this.#options = options;
    this.#memory = new ModuleMemory(options.heapMiBMax, options.allowedBytes, () =>
      [...this.#threads].filter(({ isIdle }) => !isIdle),
    );
  }

  /** @throws BadPayload, which executors.ts turns into a failed run */
  start(order: RunOrder, sink: RunSink): Run {
    const payload = order.payload as ModulePayload;
    const { graceMs, valueBytesMax } = this.#options;
    const run = new ModuleRun(
      {
        path: modulePath(payload),
        exportName: payload.export ?? 'default',
        input: payload.input,
        env: order.env,
        outputBytesMax: order.outputBytesMax,
        valueBytesMax,
      },
      sink,
      graceMs,
      () => this.#waiting.delete(run),
      () => {
        this.#waiting = new Set([run, ...this.#waiting]);
        this.#advance();
      },
    );
    this.#waiting.add(run);
    queueMicrotask(() => this.#advance());
    return run;
  }

  async close(): Promise<void> {
    this.#memory.close();
    const ended = Promise.all([...this.#alive].map((thread) => thread.end()));
    await new Promise<void>((resolve) => {
      const margin = setTimeout(resolve, CLOSE_MARGIN_MS);
      void ended.then(() => clearTimeout(margin)).then(resolve);
    });
    if (this.#alive.size === 0) return;
    this.#options.warn('a module is stuck in a native call: this process kills itself with SIGKILL');
    // Otherwise Node waits at exit for threads that never end.
    process.once('exit', () => {
      if (this.#alive.size > 0) process.kill(process.pid, 'SIGKILL');
    });
  }

  #advance(): void {
    for (const run of this.#waiting) {
      const idle = [...this.#threads].find(({ isIdle }) => isIdle);
      if (idle === undefined && this.#threads.size >= this.#options.threads) return;
      this.#waiting.delete(run);
      const refusal = this.#options.refusal(run.order.path);
      if (refusal !== undefined) run.broke(failed('not-allowed', refusal));
      else this.#begin(run, idle);
    }
  }

  #begin(run: ModuleRun, idle: ThreadLink | undefined): void {
    try {
      run.begin(idle ?? this.#startThread());
      this.#memory.watch();
    } catch (error) {
      const { name, message } = error as Error;
      if (name === 'DataCloneError') {
        run.broke(failed('input-not-serialisable', `cannot pass the input to a thread: ${message}`));
      } else {
        run.broke(failed('process-limit', `cannot start another module thread: ${message}`));
      }
    }
  }

  /** @throws Error if the system has no more threads */
  #startThread(): ThreadLink {
    const ending = this.#alive.size - this.#threads.size;
    if (ending >= this.#options.threads + STUCK_THREADS_MAX) {
      throw new Error(`${ending} killed modules are stuck in native calls`);
    }
    const thread = new ThreadLink({
      ...this.#options,
      onIdle: () => this.#advance(),
      onSpent: (spent) => {
        this.#threads.delete(spent);
        this.#advance();
      },
      onGone: (gone) => this.#alive.delete(gone),
    });
    this.#threads.add(thread);
    this.#alive.add(thread);
    return thread;
  }
}

class ModuleRun implements Run {
  readonly order: ThreadOrder;
  readonly #sink: RunSink;
  readonly #graceMs: number;
  /** Called when the run no longer needs a thread. */
  readonly #stopWaiting: () => void;
  readonly #waitAgain: () => void;
  #thread: ThreadLink | undefined;
  readonly #clock = new RunClock();
  /** Whether its function observes the abort signal. */
  #listens = false;
  #killedFor: KillReason | undefined;
  #grace: NodeJS.Timeout | undefined;
  #ended = false;
  readonly #tails = new Map<OutputStream, OutputTail>();

  constructor(
    order: ThreadOrder,
    sink: RunSink,
    graceMs: number,
    stopWaiting: () => void,
    waitAgain: () => void,
  ) {
    this.order = order;
    this.#sink = sink;
    this.#graceMs = graceMs;
    this.#stopWaiting = stopWaiting;
    this.#waitAgain = waitAgain;
  }

  /** @throws DataCloneError for an input that cannot be cloned */
  begin(thread: ThreadLink): void {
    thread.start(this);
    this.#thread = thread;
    if (this.#clock.isPaused) thread.setPaused(true);
  }

  kill(reason: KillReason): void {
    if (this.#ended || this.#killedFor !== undefined) return;
    this.resume();
    this.#killedFor = reason;
    if (this.#listens) {
      this.#thread!.kill(reason);
      this.#grace = setTimeout(() => this.#cut(reason), this.#graceMs);
    } else {
      this.#stopWaiting();
      this.#cut(reason);
    }
  }

  pause(): void {
    if (this.#ended || this.#killedFor !== undefined) return;
    if (this.#clock.pause()) this.#thread?.setPaused(true);
  }

  resume(): void {
    if (this.#clock.resume()) this.#thread?.setPaused(false);
  }

  started(): void {
    if (this.#clock.hasStarted) return;
    this.#clock.start();
    this.#sink.started?.();
  }

  again(): void {
    this.#thread = undefined;
    if (!this.#ended && this.#killedFor === undefined) this.#waitAgain();
  }

  onMessage(message: FromRun): void {
    switch (message.kind) {
      case 'listens':
        this.#listens = true;
        return;
      case 'output':
        return this.#sink.output(message);
      case 'stale':
        return;
      case 'tail':
        this.#tails.set(message.stream, new OutputTail(message.memory));
        return;
      case 'ended':
        return this.#end(outcomeOf(message), Math.max(0, message.runMs - this.#clock.pausedMs));
    }
  }

  /** Ends the run as failed, because its thread failed. */
  broke(outcome: FailedOutcome): void {
    this.#end(outcome);
  }

  #cut(reason: KillReason): void {
    void this.#thread?.end();
    queueMicrotask(() => this.#end({ kind: 'killed', reason }));
  }

  #end(outcome: Outcome, runMs = this.#clock.runMs): void {
    if (this.#ended) return;
    this.resume();
    this.#ended = true;
    clearTimeout(this.#grace);
    for (const [stream, tail] of this.#tails)
      for (const chunk of tailChunks(stream, tail)) this.#sink.output(chunk);
    const reason = this.#killedFor;
    this.#sink.ended(reason === undefined ? outcome : { kind: 'killed', reason }, runMs);
  }
}

function outcomeOf({ json, error }: ThreadResult): Outcome {
  if (error !== undefined) return failed(error.code, error.message);
  return json === undefined ? { kind: 'completed' } : { kind: 'completed', value: JSON.parse(json) };
}
