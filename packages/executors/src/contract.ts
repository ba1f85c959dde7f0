import type { KillReason, Payload } from '@goshawk/core';
import type { TaskLimits } from './cgroup.js';

/**
 * The executor contract: start a task's payload, report its events, and kill it. The worker's driver knows
 * executors only by these types.
 */

export interface RunOrder {
  /** Payload according to the job schema. A relative `cwd` or `module` is refused, since there is no base folder here. */
  readonly payload: Payload;
  /** `GOSHAWK_JOB`, `GOSHAWK_TASK`, `GOSHAWK_ATTEMPT` and the like. They win over the payload's `env`. */
  readonly env: Readonly<Record<string, string>>;
  /** The task's demands, which limit commands if the worker has cgroups. */
  readonly limits?: TaskLimits;
  /** The user of the job, whose account the task gets where a worker runs tasks under accounts. */
  readonly user?: string | undefined;
  /** The task's own folder, made by the worker for its inputs and its result. */
  readonly folder?: string | undefined;
  /** Bytes kept of stdout and of stderr each, from both ends; a line marks the gap between them. */
  readonly outputBytesMax: number;
}

/** Why a run failed: a closed list, for programs. The message beside it is for people. */
export type FailureCode =
  // The order
  | 'bad-payload' // what was asked for makes no sense; the message says which field
  | 'not-allowed' // this worker does not run such payloads
  | 'executor-closed' // the worker is stopping
  // exec: the command did not start
  | 'command-not-found'
  | 'no-account' // the submitter has none on this worker, which runs tasks under those
  | 'no-such-folder' // cwd is missing or not a folder
  | 'permission-denied'
  | 'output-file' // the file that stdout or stderr is to go to cannot be written
  | 'arguments-too-long' // arguments and environment exceed what the system takes
  | 'process-limit' // the system refuses another process, or another thread for a module
  | 'no-memory' // the system has none for another process
  | 'too-many-files' // the system refuses another open file
  | 'spawn-failed' // anything else; the message has the system's word
  // exec: the command ended
  | 'exit-code' // not 0
  | 'signal' // ended by a signal that this worker did not send
  | 'spawner-failed' // the process that starts commands did not start
  | 'spawner-lost' // the process that starts commands died, and the run with it
  // module
  | 'no-such-module'
  | 'no-such-export' // or not a function
  | 'module-load-failed' // a syntax error, a missing dependency, a throw at its top level
  | 'module-threw'
  | 'input-not-serialisable'
  | 'result-not-serialisable'
  | 'result-too-large'
  | 'out-of-memory' // of a module's heap, or of a command's cgroup
  | 'thread-failed'; // the thread ended under the run: process.exit(), an error in a stray callback

export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
}

export interface FailedOutcome {
  readonly kind: 'failed';
  readonly error: Failure;
  /** Exit code, if the command exited. */
  readonly exitCode?: number;
  /** Signal that ended the command, such as `SIGSEGV`. */
  readonly signal?: string;
}

export type Outcome =
  | { readonly kind: 'completed'; readonly value?: unknown; readonly exitCode?: 0 }
  | FailedOutcome
  /** Ended by `kill` of this run. */
  | { readonly kind: 'killed'; readonly reason: KillReason };

export type OutputStream = 'stdout' | 'stderr';

export interface OutputChunk {
  readonly stream: OutputStream;
  /** The sink's to keep. A chunk ends anywhere, also within a character. */
  readonly bytes: Uint8Array;
}

/**
 * Receives what a run does. Nothing is called before `start` has returned; `ended` is called exactly
 * once, and nothing after it.
 */
export interface RunSink {
  /**
   * The run has really begun; waiting for a process or a thread to be had is over. Timeouts count from
   * here. Not called when the run never began (it could not start, or was killed before).
   */
  started?(): void;
  output(chunk: OutputChunk): void;
  /**
   * `runMs`: from the beginning of the run to its end, 0 when it never began. `maxRssBytes`: peak memory of a command and its
   * children, where it ran long enough to be measured.
   */
  ended(outcome: Outcome, runMs: number, maxRssBytes?: number): void;
}

export interface Run {
  /**
   * Ends the run: a process group by SIGTERM, then SIGKILL after the grace time; a thread at once, or after the grace time
   * if it looks at its signal. The first reason counts; `ended` reports the end.
   */
  kill(reason: KillReason): void;
}

export interface Executor {
  /** Never throws: an impossible order ends as a failed run. */
  start(order: RunOrder, sink: RunSink): Run;
  /** Kills what runs (`shutdown`), waits for its end, and gives back processes and threads. */
  close(): Promise<void>;
}

/** The failed outcome for a code and one line that says what is wrong and what to do. */
export function failed(code: FailureCode, message: string): FailedOutcome {
  return { kind: 'failed', error: { code, message } };
}

/** Reports a run that failed before it began. */
export function refused(outcome: FailedOutcome, sink: RunSink): Run {
  queueMicrotask(() => sink.ended(outcome, 0));
  return { kill: () => {} };
}
