import type { Payload } from '@goshawk/core';
import type { TaskLimits } from './cgroup.js';
import type { Executor, Measured, Outcome, OutputStream, Run, RunSink } from './contract.js';

/** A sink that records its calls, for tests of executors. */
export class RecordingSink implements RunSink {
  /** Names of the calls, in order; consecutive calls for output are listed once. */
  readonly calls: string[] = [];
  readonly #output: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] };
  readonly isStarted: Promise<void>;
  readonly end: Promise<{ outcome: Outcome; runMs: number } & Measured>;
  #onStarted!: () => void;
  #onEnded!: (end: { outcome: Outcome; runMs: number } & Measured) => void;

  constructor() {
    this.isStarted = new Promise((resolve) => {
      this.#onStarted = resolve;
    });
    this.end = new Promise((resolve) => {
      this.#onEnded = resolve;
    });
  }

  started(): void {
    this.calls.push('started');
    this.#onStarted();
  }

  output({ stream, bytes }: { stream: OutputStream; bytes: Uint8Array }): void {
    if (this.calls.at(-1) !== 'output') this.calls.push('output');
    this.#output[stream].push(bytes);
  }

  ended(outcome: Outcome, runMs: number, measured?: Measured): void {
    this.calls.push('ended');
    this.#onEnded({ outcome, runMs, ...measured });
  }

  bytes(stream: OutputStream): Buffer {
    return Buffer.concat(this.#output[stream]);
  }

  text(stream: OutputStream = 'stdout'): string {
    return this.bytes(stream).toString('utf8');
  }
}

/** Shell code that waits until its last child is in a separate session (`setsid`). Before that, the child ends with the group. */
export const UNTIL_ESCAPED = `until [ "$(cut -d' ' -f6 /proc/$!/stat)" = $! ]; do :; done`;

interface Recorded {
  readonly run: Run;
  readonly sink: RecordingSink;
}

interface RecordOptions {
  readonly user?: string;
  readonly env?: Record<string, string>;
  readonly folder?: string;
  readonly limits?: TaskLimits;
  readonly outputBytesMax?: number;
}

/** Starts a payload with a recording sink. */
export function record(executor: Executor, payload: Payload, options: RecordOptions = {}): Recorded {
  const sink = new RecordingSink();
  const order = { outputBytesMax: 1_000_000, env: {}, ...options, payload };
  return { run: executor.start(order, sink), sink };
}

/** Runs a payload to its end. */
export async function outcomeOf(
  executor: Executor,
  payload: Payload,
  options: RecordOptions = {},
): Promise<{ outcome: Outcome; runMs: number; sink: RecordingSink } & Measured> {
  const { sink } = record(executor, payload, options);
  return { ...(await sink.end), sink };
}
