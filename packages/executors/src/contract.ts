import type { KillReason, Payload } from '@goshawk/core';
import type { TaskLimits } from './cgroup.js';

/**
 * The executor contract: start a task's payload, report its events, and kill it. The worker's driver knows
 * executors only by these types.
 */

export interface RunOrder {
  /** Payload according to the job schema. A relative `cwd` or `module` is refused, because workers have no base folder. */
  readonly payload: Payload;
  /** `GOSHAWK_JOB`, `GOSHAWK_TASK`, `GOSHAWK_ATTEMPT` and similar. They override the payload's `env`. */
  readonly env: Readonly<Record<string, string>>;
  /** The task's resource demands, which limit commands if the worker has cgroups. */
  readonly limits?: TaskLimits;
  /** The job's user, whose account runs the task if the worker isolates users. */
  readonly user?: string | undefined;
  /** The task's folder, which the worker creates for inputs and the result. */
  readonly folder?: string | undefined;
  /** Bytes kept of stdout and of stderr each, from both ends; a line marks the gap. */
  readonly outputBytesMax: number;
}

/** Reason of a failed run: a closed list, for programs. The message is for people. */
export type FailureCode =
  // The order
  | 'bad-payload' // invalid payload; the message names the field
  | 'not-allowed' // this worker does not allow such payloads
  | 'executor-closed' // the worker is stopping
  // exec: the command did not start
  | 'command-not-found'
  | 'no-account' // the submitter has no account on this worker, which requires one
  | 'no-such-folder' // cwd is missing or not a folder
  | 'permission-denied'
  | 'image-unavailable' // it is not on this machine and cannot be pulled
  | 'container-failed' // the container engine did not start the container
  | 'output-file' // the file for stdout or stderr cannot be written
  | 'arguments-too-long' // arguments and environment exceed the system's limit
  | 'process-limit' // the system refuses another process, or another thread for a module
  | 'no-memory' // the system has no memory for another process
  | 'too-many-files' // the system refuses another open file
  | 'spawn-failed' // anything else; the message has the system's error
  // exec: the command ended
  | 'exit-code' // not 0
  | 'signal' // ended by a signal that this worker did not send
  | 'spawner-failed' // the spawner did not start
  | 'spawner-lost' // the spawner died, and the run with it
  // module
  | 'no-such-module'
  | 'no-such-export' // or not a function
  | 'module-load-failed' // a syntax error, a missing dependency, a throw at its top level
  | 'module-threw'
  | 'input-not-serialisable'
  | 'result-not-serialisable'
  | 'result-too-large'
  | 'out-of-memory' // of a module's heap, or of a command's cgroup
  | 'thread-failed'; // the thread ended during the run: process.exit(), or an error in a stray callback

export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
}

export interface FailedOutcome {
  readonly kind: 'failed';
  readonly error: Failure;
  /** Report of the failed task for its submitter, such as an exception. */
  readonly value?: unknown;
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
  /** Owned by the sink. A chunk may end within a character. */
  readonly bytes: Uint8Array;
}

/** CPU and memory that a run uses at present. */
export interface Usage {
  /** CPUs, averaged over about a second. */
  readonly cpu: number;
  /** Resident memory in bytes. */
  readonly memory: number;
}

/** What the kernel measured of a run that has ended; absent if it gave nothing. */
export interface Measured {
  /** Peak memory of a command and its children, if it ran long enough to be sampled. */
  readonly maxRssBytes?: number | undefined;
  /**
   * CPU time of a command and of the children it waited for; with a cgroup, of all its processes. Above 0: what ran for
   * less than the kernel's resolution was not measured.
   */
  readonly cpuMs?: number | undefined;
}

/** Receives the events of a run. Nothing is called before `start` has returned; `ended` is called exactly once, and last. */
export interface RunSink {
  /**
   * The run has begun: it has a process or thread. Timeouts count from here. Not called for a run that could not start or was
   * killed before.
   */
  started?(): void;
  output(chunk: OutputChunk): void;
  /** Called about once a second while the run's usage is known. */
  used?(usage: Usage): void;
  /**
   * `runMs`: duration of the run without pauses, 0 if it never began.
   */
  ended(outcome: Outcome, runMs: number, measured?: Measured): void;
}

export interface Run {
  /**
   * Ends the run: a process group by SIGTERM, then SIGKILL after the grace period; a thread immediately, or after the grace period if
   * it observes its signal. The first reason counts; `ended` reports the end.
   */
  kill(reason: KillReason): void;
  /**
   * Takes the CPUs from the run, which keeps everything else: a command stops, or gets a hundredth of the share of others if it has
   * a cgroup; a thread runs only when nothing else does, where the kernel allows that. A run that has not begun begins paused.
   * Without effect on a run that is paused, was killed or has ended.
   */
  pause(): void;
  /** Ends the pause. `kill` does so, too. */
  resume(): void;
}

export interface Executor {
  /** Never throws: an invalid order ends as a failed run. */
  start(order: RunOrder, sink: RunSink): Run;
  /** Kills running tasks (`shutdown`), waits for their end, and releases processes and threads. */
  close(): Promise<void>;
}

/** Builds a failed outcome from a code and one line with the problem and the remedy. */
export function failed(code: FailureCode, message: string): FailedOutcome {
  return { kind: 'failed', error: { code, message } };
}

/** Reports a run that failed before it began. */
export function refused(outcome: FailedOutcome, sink: RunSink): Run {
  queueMicrotask(() => sink.ended(outcome, 0));
  return { kill: () => {}, pause: () => {}, resume: () => {} };
}
