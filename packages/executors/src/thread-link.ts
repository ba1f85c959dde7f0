import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { KillReason } from '@goshawk/core';
import { compiledFile } from './compiled.js';
import { type FailedOutcome, failed } from './contract.js';
import { MODULE_THREAD_IDLE_MS } from './limits.js';
import type { FromRun, FromThread, ThreadData, ThreadOrder, ToThread } from './module-protocol.js';
import { describeThrown } from './thrown.js';

interface ThreadLinkOptions {
  readonly heapMiBMax: number;
  /** All that its modules see of the worker's environment. */
  readonly environment: Readonly<Record<string, string>>;
  onIdle(): void;
  /** It runs nothing more. May be said twice. */
  onSpent(thread: ThreadLink): void;
  /** There is no such thread any more. */
  onGone(thread: ThreadLink): void;
}

/** A run in a thread: hears what the thread says of it up to `ended`, or that the thread is gone. */
interface LinkedRun {
  readonly order: ThreadOrder;
  /** The thread has it and runs nothing else. */
  started(): void;
  heard(message: FromRun): void;
  /** The thread has not begun it and takes no more: another one has to. */
  again(): void;
  broke(outcome: FailedOutcome): void;
}

/**
 * The worker's end of the link to a thread, which has a run at a time. Neither keeps the worker's process alive: runs do (see
 * executors.ts).
 */
export class ThreadLink {
  readonly #options: ThreadLinkOptions;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  #run: LinkedRun | undefined;
  #isReady = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #unanswered = 0;
  #externalBytes = 0;
  #thrown: unknown;

  /** @throws Error of the system, which has no thread to give */
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
    this.#worker.on('exit', (code) => {
      this.#exited(code);
      options.onGone(this);
    });
    port1.on('message', this.#heard);
    port1.unref();
    this.#rest();
  }

  get isIdle(): boolean {
    return this.#run === undefined;
  }

  /** When its run began. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Bytes outside of the heap, when it was asked last. */
  get externalBytes(): number {
    return this.#externalBytes;
  }

  /** It has not answered for two looks: it computes. */
  get isDeaf(): boolean {
    return this.#unanswered > 2;
  }

  measure(): void {
    if (this.#unanswered++ === 0) this.#post({ kind: 'measure' });
  }

  /** Ends the thread, for its run takes too much memory. */
  outgrown(message: string): void {
    const run = this.#run;
    void this.end();
    run?.broke(failed('out-of-memory', message));
  }

  /** @throws DataCloneError for an input that cannot be handed to a thread */
  start(run: LinkedRun): void {
    this.#post({ kind: 'run', order: run.order });
    clearTimeout(this.#idleTimer);
    this.#run = run;
    this.#startedAt = performance.now();
    this.#unanswered = 0;
    this.#externalBytes = 0;
    if (this.#isReady) run.started();
  }

  /** Says to the run that it is to end. */
  kill(reason: KillReason): void {
    this.#post({ kind: 'kill', reason });
  }

  /** Ends the thread, loops without an end included; a blocking native call first returns. */
  async end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#run = undefined;
    this.#port.close();
    this.#options.onSpent(this);
    const gone = this.#worker.terminate();
    // It keeps the process again as soon as it is to end.
    this.#worker.unref();
    await gone;
  }

  #post(message: ToThread): void {
    this.#port.postMessage(message);
  }

  readonly #heard = (message: FromThread): void => {
    if (message.kind === 'ready') {
      this.#isReady = true;
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
    this.#run?.heard(message);
    if (message.kind !== 'ended') return;
    this.#run = undefined;
    if (message.isSpent) {
      void this.end();
    } else {
      this.#rest();
      this.#options.onIdle();
    }
  };

  /** Idle from now on. */
  #rest(): void {
    this.#idleTimer = setTimeout(() => this.end(), MODULE_THREAD_IDLE_MS).unref();
  }

  #exited(code: number): void {
    // The thread's last words may still be on their way.
    this.#port.off('message', this.#heard);
    for (let left = receiveMessageOnPort(this.#port); left; left = receiveMessageOnPort(this.#port)) {
      const message = left.message as FromThread;
      if (message.kind !== 'ready' && message.kind !== 'usage') this.#run?.heard(message);
    }
    this.#port.close();
    clearTimeout(this.#idleTimer);
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
    return failed('thread-failed', `the module's thread ended under it: ${reason}`);
  }
}
