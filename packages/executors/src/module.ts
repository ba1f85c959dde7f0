import { createRequire } from 'node:module';
import { BroadcastChannel } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { compiledFile } from './compiled.js';
import {
  type Executor,
  type FailedOutcome,
  failed,
  type KillReason,
  type ModulePayload,
  type Outcome,
  type Run,
  type RunOrder,
  type RunSink,
} from './contract.js';
import { MODULE_THREAD_IDLE_MS, MODULE_THREAD_LOADS_MAX } from './limits.js';
import type { ThreadOrder, ThreadPost, ThreadResult } from './module-protocol.js';
import { modulePath } from './payload.js';

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
}

/**
 * Modules, in a pool of threads that starts with the first run. Runs wait here rather than in the pool,
 * in order, so that the pool never has more of them than threads and `started` comes without delay.
 */
export class ModuleExecutor implements Executor {
  readonly #options: ModuleExecutorOptions;
  readonly #waiting = new Set<ModuleRun>();
  /** Given to the pool and not ended. */
  readonly #inPool = new Map<number, ModuleRun>();
  #busyThreads = 0;
  #pool: Pool | undefined;
  readonly #retired = new Set<Pool>();
  #nextRun = 1;
  /** Unique in the process, and none of another's. */
  readonly #killsName = `goshawk-kills-${++executors}`;
  #kills: BroadcastChannel | undefined;

  constructor(options: ModuleExecutorOptions) {
    this.#options = options;
  }

  /** @throws BadPayload, of which the dispatcher (executors.ts) makes a failed run. */
  start(order: RunOrder, sink: RunSink): Run {
    const payload = order.payload as ModulePayload;
    const run = new ModuleRun(
      {
        run: this.#nextRun++,
        path: modulePath(payload),
        exportName: payload.export ?? 'default',
        input: payload.input,
        env: order.env,
        outputBytesMax: order.outputBytesMax,
        valueBytesMax: this.#options.valueBytesMax,
        kills: this.#killsName,
      },
      sink,
      {
        forget: () => this.#forget(run),
        tell: (reason) => this.#tell(run, reason),
        graceMs: this.#options.graceMs,
      },
    );
    this.#waiting.add(run);
    queueMicrotask(() => this.#advance());
    return run;
  }

  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    this.#kills?.close();
    const pools = [...this.#retired, ...(pool === undefined ? [] : [pool])];
    await Promise.all(pools.map(({ threads }) => threads.destroy()));
  }

  #advance(): void {
    for (const run of this.#waiting) {
      if (this.#busyThreads >= this.#options.threads) return;
      this.#waiting.delete(run);
      const refusal = this.#options.refusal(run.order.path);
      if (refusal === undefined) this.#runInPool(run);
      else run.broke(failed('not-allowed', refusal));
    }
  }

  async #runInPool(run: ModuleRun): Promise<void> {
    this.#inPool.set(run.order.run, run);
    this.#busyThreads++;
    let pool: Pool | undefined;
    try {
      this.#pool ??= { threads: this.#startPool(), runs: 0, isRetired: false };
      pool = this.#pool;
      pool.runs++;
      const result = await pool.threads.run(run.order, { signal: run.abort.signal });
      run.resulted(result);
      if (result.loads >= MODULE_THREAD_LOADS_MAX) this.#retire(pool);
    } catch (error) {
      run.broke(this.#explain(error as NodeJS.ErrnoException));
      // It may still be in the pool's queue, if what failed was the start of a thread.
      run.abort.abort();
    }
    if (pool !== undefined) this.#left(pool);
    // The thread is free; the run itself may still wait for posts that its result has overtaken.
    this.#busyThreads--;
    this.#advance();
  }

  #forget(run: ModuleRun): void {
    this.#waiting.delete(run);
    this.#inPool.delete(run.order.run);
  }

  #tell({ order: { run } }: ModuleRun, reason: KillReason): void {
    this.#kills ??= new BroadcastChannel(this.#killsName);
    this.#kills.unref();
    this.#kills.postMessage({ run, reason });
  }

  /** Its threads end when what runs in them has; what comes next has others. */
  #retire(pool: Pool): void {
    if (this.#pool !== pool) return;
    this.#pool = undefined;
    pool.isRetired = true;
    this.#retired.add(pool);
  }

  #left(pool: Pool): void {
    pool.runs--;
    if (!pool.isRetired || pool.runs > 0) return;
    this.#retired.delete(pool);
    // Not `close`, which ends what runs longer than half a minute.
    void pool.threads.destroy();
  }

  #startPool(): Piscina<ThreadOrder, ThreadResult> {
    const { threads, heapMiBMax, environment } = this.#options;
    // Most workers never run a module.
    const piscina = createRequire(import.meta.url)('piscina') as typeof import('piscina');
    const pool = new piscina.Piscina<ThreadOrder, ThreadResult>({
      filename: compiledFile('./module-thread.js', import.meta.url),
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: MODULE_THREAD_IDLE_MS,
      env: environment,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax },
    });
    pool.on('message', (post: ThreadPost) => this.#inPool.get(post.run)?.posted(post));
    // A thread that could not start; the pool would not try again, and what waits for it would hang.
    pool.on('error', (error: Error) => {
      for (const run of this.#inPool.values()) if (!run.isStarted) run.broke(this.#explain(error));
    });
    return pool;
  }

  #explain(error: NodeJS.ErrnoException): FailedOutcome {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      return failed(
        'out-of-memory',
        `the module used more than ${this.#options.heapMiBMax} MiB of heap, the limit of a thread`,
      );
    }
    if (error.name === 'DataCloneError') {
      return failed('input-not-serialisable', `the input cannot be handed to a thread: ${error.message}`);
    }
    return failed('thread-failed', `the module's thread ended under it: ${error.message}`);
  }
}

let executors = 0;

interface Pool {
  readonly threads: Piscina<ThreadOrder, ThreadResult>;
  /** Under way. */
  runs: number;
  isRetired: boolean;
}

/** Of a run, what its executor does for it. */
interface RunOwner {
  forget(): void;
  /** Says to its thread that it is to end. */
  tell(reason: KillReason): void;
  readonly graceMs: number;
}

class ModuleRun implements Run {
  readonly order: ThreadOrder;
  readonly abort = new AbortController();
  readonly #sink: RunSink;
  readonly #owner: RunOwner;
  #startedAt: number | undefined;
  #posts = 0;
  #result: ThreadResult | undefined;
  /** Its function looks at its signal. */
  #listens = false;
  #killedFor: KillReason | undefined;
  #grace: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(order: ThreadOrder, sink: RunSink, owner: RunOwner) {
    this.order = order;
    this.#sink = sink;
    this.#owner = owner;
  }

  get isStarted(): boolean {
    return this.#startedAt !== undefined;
  }

  kill(reason: KillReason): void {
    if (this.#ended || this.#killedFor !== undefined) return;
    this.#killedFor = reason;
    if (!this.#listens) {
      // The pool terminates the thread, if the run has come that far; loops without an end included.
      this.abort.abort();
      this.#owner.forget();
      queueMicrotask(() => this.#end({ kind: 'killed', reason }));
      return;
    }
    this.#owner.tell(reason);
    this.#grace = setTimeout(() => {
      this.abort.abort();
      this.#end({ kind: 'killed', reason });
    }, this.#owner.graceMs);
  }

  posted(post: ThreadPost): void {
    this.#posts++;
    if (post.kind === 'output') {
      this.#sink.output({ stream: post.stream, bytes: post.bytes });
    } else if (post.kind === 'listens') {
      this.#listens = true;
    } else {
      this.#startedAt = performance.now();
      this.#sink.started?.();
    }
    this.#endWithResult();
  }

  resulted(result: ThreadResult): void {
    this.#result = result;
    this.#endWithResult();
  }

  broke(outcome: FailedOutcome): void {
    if (this.#killedFor === undefined) this.#end(outcome);
  }

  #endWithResult(): void {
    if (this.#result === undefined || this.#posts < this.#result.posts) return;
    const { json, error, runMs } = this.#result;
    if (this.#killedFor !== undefined) this.#end({ kind: 'killed', reason: this.#killedFor }, runMs);
    else if (error !== undefined) this.#end(failed(error.code, error.message), runMs);
    else if (json === undefined) this.#end({ kind: 'completed' }, runMs);
    else this.#end({ kind: 'completed', value: JSON.parse(json) }, runMs);
  }

  #end(outcome: Outcome, runMs = this.#sinceStartMs()): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#grace);
    this.#owner.forget();
    this.#sink.ended(outcome, runMs);
  }

  #sinceStartMs(): number {
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
  }
}
