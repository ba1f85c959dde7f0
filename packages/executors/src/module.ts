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
import { ThreadLink } from './thread-link.js';

interface ModuleExecutorOptions {
  readonly threads: number;
  readonly heapMiBMax: number;
  readonly valueBytesMax: number;
  /** Between the word that a run is to end, where it listens, and the end of its thread. */
  readonly graceMs: number;
  /** All that modules see of the worker's environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Why a module is not run, asked when its turn has come. */
  refusal(path: string): string | undefined;
  /** Called with what is no task's fault, in one line: for the log. */
  readonly warn: (message: string) => void;
}

/** Modules, in threads that start when they are needed and end when they have been idle for a while. */
export class ModuleExecutor implements Executor {
  readonly #options: ModuleExecutorOptions;
  /** In order. */
  #waiting = new Set<ModuleRun>();
  readonly #threads = new Set<ThreadLink>();
  /** With those that are to end, and do so when a native call returns. */
  readonly #alive = new Set<ThreadLink>();

  readonly #memory: ModuleMemory;

  constructor(options: ModuleExecutorOptions) {
    this.#options = options;
    this.#memory = new ModuleMemory(options.heapMiBMax, () =>
      [...this.#threads].filter(({ isIdle }) => !isIdle),
    );
  }

  /** @throws BadPayload, of which the dispatcher (executors.ts) makes a failed run. */
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
    // Node waits for its threads wherever else it ends.
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

  /** @throws Error where there are no more threads */
  #startThread(): ThreadLink {
    const ending = this.#alive.size - this.#threads.size;
    if (ending >= this.#options.threads + STUCK_THREADS_MAX) {
      throw new Error(`${ending} of killed modules are stuck in native calls`);
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
  /** It is to get no thread any more. */
  readonly #stopWaiting: () => void;
  readonly #waitAgain: () => void;
  #thread: ThreadLink | undefined;
  #startedAt: number | undefined;
  /** Its function looks at its signal. */
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

  /** @throws DataCloneError for an input that cannot be handed to a thread */
  begin(thread: ThreadLink): void {
    thread.start(this);
    this.#thread = thread;
  }

  kill(reason: KillReason): void {
    if (this.#ended || this.#killedFor !== undefined) return;
    this.#killedFor = reason;
    if (this.#listens) {
      this.#thread!.kill(reason);
      this.#grace = setTimeout(() => this.#cut(reason), this.#graceMs);
    } else {
      this.#stopWaiting();
      this.#cut(reason);
    }
  }

  started(): void {
    if (this.#startedAt !== undefined) return;
    this.#startedAt = performance.now();
    this.#sink.started?.();
  }

  again(): void {
    this.#thread = undefined;
    if (!this.#ended && this.#killedFor === undefined) this.#waitAgain();
  }

  heard(message: FromRun): void {
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
        return this.#end(outcomeOf(message), message.runMs);
    }
  }

  /** It comes to nothing. */
  broke(outcome: FailedOutcome): void {
    this.#end(outcome);
  }

  #cut(reason: KillReason): void {
    void this.#thread?.end();
    queueMicrotask(() => this.#end({ kind: 'killed', reason }));
  }

  #end(outcome: Outcome, runMs = this.#sinceStartMs()): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#grace);
    for (const [stream, tail] of this.#tails)
      for (const chunk of tailChunks(stream, tail)) this.#sink.output(chunk);
    const reason = this.#killedFor;
    this.#sink.ended(reason === undefined ? outcome : { kind: 'killed', reason }, runMs);
  }

  #sinceStartMs(): number {
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
  }
}

function outcomeOf({ json, error }: ThreadResult): Outcome {
  if (error !== undefined) return failed(error.code, error.message);
  return json === undefined ? { kind: 'completed' } : { kind: 'completed', value: JSON.parse(json) };
}
