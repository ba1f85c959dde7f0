import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { KillReason } from '@goshawk/core';
import { compiledFile } from './compiled.js';
import { type FailedOutcome, failed } from './contract.js';
import { MODULE_THREAD_IDLE_MS, THREAD_EXIT_MS } from './limits.js';
import type { FromRun, FromThread, ThreadData, ThreadOrder, ToThread } from './module-protocol.js';
import { ThreadPriority } from './thread-priority.js';
import { describeThrown } from './thrown.js';

interface ThreadLinkOptions {
  readonly heapMiBMax: number;
  /** Variables of the worker that modules may read. */
  readonly environment: Readonly<Record<string, string>>;
  onIdle(): void;
  /** Called when the thread accepts no more runs, possibly more than once. */
  onSpent(thread: ThreadLink): void;
  /** Called when the thread has ended. */
  onGone(thread: ThreadLink): void;
}

/** A run in a thread. It receives the events of the thread until `ended`, or the loss of the thread. */
interface LinkedRun {
  readonly order: ThreadOrder;
  /** Called when the thread has started the run. */
  started(): void;
  onMessage(message: FromRun): void;
  /** Called when the thread refused the run before it began, so that another thread must run it. */
  again(): void;
  broke(outcome: FailedOutcome): void;
}

/**
 * The worker's end of the link to a thread, which runs one task at a time. The thread and the link do not
 * keep the process alive; runs do (see executors.ts).
 */
export class ThreadLink {
  readonly #options: ThreadLinkOptions;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #gone: Promise<void>;
  #run: LinkedRun | undefined;
  #isReady = false;
  readonly #priority = new ThreadPriority();
  #idleTimer: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #unanswered = 0;
  #externalBytes = 0;
  #thrown: unknown;

  /** @throws Error of the system if it has no thread left */
  constructor(options: ThreadLinkOptions) {
    this.#options = options;
    const { port1, port2 } = new MessageChannel();
    const workerData: ThreadData = { port: port2 };
    this.#port = port1;
    try {
      this.#worker = new Worker(compiledFile('./module-thread.js', import.meta.url), {
        env: options.environment,
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: options.heapMiBMax },
        workerData,
        transferList: [port2],
      });
    } catch (error) {
      port1.close();
      throw error;
    }
    this.#worker.unref();
    this.#worker.on('error', (thrown) => {
      this.#thrown = thrown;
    });
    this.#gone = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.#exited(code);
        options.onGone(this);
        resolve();
      });
    });
    port1.on('message', this.#onMessage);
    port1.unref();
    this.#rest();
  }

  get isIdle(): boolean {
    return this.#run === undefined;
  }

  /** Start time of the last run. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Memory outside of the heap at the last report, in bytes. */
  get externalBytes(): number {
    return this.#externalBytes;
  }

  /** Whether the thread missed two checks, because it computes without a pause. */
  get isUnresponsive(): boolean {
    return this.#unanswered > 2;
  }

  measure(): void {
    if (this.#unanswered++ === 0) this.#post({ kind: 'measure' });
  }

  /** Ends the thread because its run takes too much memory. */
  outOfMemory(message: string): void {
    const run = this.#run;
    void this.end(0);
    run?.broke(failed('out-of-memory', message));
  }

  /** @throws DataCloneError for an input that cannot be cloned */
  start(run: LinkedRun): void {
    this.#post({ kind: 'run', order: run.order });
    clearTimeout(this.#idleTimer);
    this.#run = run;
    this.#startedAt = performance.now();
    this.#unanswered = 0;
    this.#externalBytes = 0;
    if (this.#isReady) run.started();
  }

  /** Lets the thread run only when nothing else does, or as usual again. */
  setPaused(isPaused: boolean): void {
    this.#priority.setLow(isPaused);
  }

  /** Aborts the run. */
  kill(reason: KillReason): void {
    this.#post({ kind: 'kill', reason });
  }

  /**
   * Ends the thread, even in an endless loop. A blocking native call delays the end until it returns. The thread
   * exits when its port closes: unlike `terminate`, that closes connections of modules, with which zeromq.js
   * would abort the process.
   */
  async end(exitMs = THREAD_EXIT_MS): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#run = undefined;
    this.#port.close();
    this.#options.onSpent(this);
    const timer = setTimeout(() => {
      void this.#worker.terminate();
      // `terminate` makes the thread keep the process alive, so it is released again.
      this.#worker.unref();
    }, exitMs).unref();
    await this.#gone;
    clearTimeout(timer);
  }

  #post(message: ToThread): void {
    this.#port.postMessage(message);
  }

  readonly #onMessage = (message: FromThread): void => {
    if (message.kind === 'ready') {
      this.#isReady = true;
      this.#priority.of(message.thread);
      return this.#run?.started();
    }
    if (message.kind === 'usage') {
      this.#unanswered = 0;
      this.#externalBytes = message.externalBytes;
      return;
    }
    if (message.kind === 'stale') {
      const run = this.#run;
      void this.end();
      run?.again();
      return;
    }
    this.#run?.onMessage(message);
    if (message.kind !== 'ended') return;
    this.#run = undefined;
    if (message.isSpent) {
      void this.end();
    } else {
      this.#rest();
      this.#options.onIdle();
    }
  };

  /** Ends the thread after a time without a run. */
  #rest(): void {
    this.#idleTimer = setTimeout(() => this.end(), MODULE_THREAD_IDLE_MS).unref();
  }

  #exited(code: number): void {
    // The thread's last messages may still be in flight.
    this.#port.off('message', this.#onMessage);
    for (let left = receiveMessageOnPort(this.#port); left; left = receiveMessageOnPort(this.#port)) {
      const message = left.message as FromThread;
      if (message.kind !== 'ready' && message.kind !== 'usage') this.#run?.onMessage(message);
    }
    this.#port.close();
    clearTimeout(this.#idleTimer);
    this.#priority.of(undefined);
    this.#run?.broke(this.#failure(code));
    this.#options.onSpent(this);
  }

  #failure(code: number): FailedOutcome {
    const thrown = this.#thrown as NodeJS.ErrnoException | undefined;
    if (thrown?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      const limit = `${this.#options.heapMiBMax} MiB of heap, the limit of a thread`;
      return failed('out-of-memory', `the module used more than ${limit}`);
    }
    const reason = thrown === undefined ? `it exited with code: ${code}` : describeThrown(thrown);
    return failed('thread-failed', `the module's thread ended unexpectedly: ${reason}`);
  }
}
