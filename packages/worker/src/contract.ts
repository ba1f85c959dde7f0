import type {
  Address,
  AttemptNumber,
  Environment,
  KillReason,
  MessageOf,
  Resources,
  TaskIndex,
  Used,
} from '@goshawk/core';

export type WorkerTimer =
  /** Register, or renew the lease. */
  | 'heartbeat'
  /** Retry unanswered questions and unconfirmed reports. */
  | 'sweep'
  /** Try to steal again. */
  | 'steal'
  /** The task in slot `key` has reached its time limit. */
  | 'taskTimeout'
  /** The lenders of the task in slot `key` have paused for as long as they may. */
  | 'loan'
  /** Send the output of the task in slot `key`. */
  | 'output'
  /** The task in slot `key` is predicted to end soon, or is overdue. */
  | 'ahead'
  /** Check whether the running task of the chunk for question `key` is not tiny after all. */
  | 'chunk'
  /** Report the delayed ends of tasks within chunks. */
  | 'ends'
  /** Report to an overloaded central a slot that has been free for a while. */
  | 'pull'
  /** End the quarantine. */
  | 'quarantine'
  /** The deadline of a drain has passed. */
  | 'drain';

/** A task for an executor to run. */
export interface TaskOrder {
  readonly payload: unknown;
  /** Identity of the task, as the task itself sees it. */
  readonly jobId: string;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
  /**
   * Number of starts of the task, including this one. The task sees it as its attempt number. Default: `attempt`.
   */
  readonly execution?: AttemptNumber | undefined;
  /** Return values of earlier stages; undefined: none. */
  readonly inputs?: MessageOf<'run'>['inputs'];
  /** The user of the job. */
  readonly user?: string | undefined;
  /** Whether the job counts as long. */
  readonly long: boolean;
  /** The worker kills the task after this time, counted from `taskStarted`. */
  readonly timeoutMs: number | undefined;
  /** Place of the task in its gang; undefined if it has none. */
  readonly gang?: GangRank | undefined;
}

/** The rank of a task in its gang, and the hosts of all members. */
export interface GangRank {
  readonly rank: number;
  readonly ranks: number;
  /** Hosts by rank; undefined until the gang has started. */
  readonly hosts?: readonly string[];
  /** A free port on the host of rank 0. */
  readonly port?: number;
}

export interface WorkerEnvironment extends Environment<WorkerTimer> {
  /**
   * Starts a task in a slot; the executor then calls `taskStarted`, `taskOutput` and `taskEnded` of the worker.
   *
   * @param gpus indices assigned to the task until it ends; undefined: the worker has no GPUs
   * @param demand resources assigned to the task, besides its slot
   * @param match by which jobs that the task submits name it as their parent; 0: central does not know it
   */
  execute(slot: number, order: TaskOrder, gpus?: readonly number[], demand?: Resources, match?: number): void;
  /** Ends the task in a slot; `taskEnded` follows. */
  kill(slot: number, reason: KillReason): void;
  /** Takes the CPUs from the task in a slot until `resume`. Its run time then excludes the pause. */
  pause?(slot: number): void;
  /** Ends the pause of the task in a slot; `kill` does so, too. */
  resume?(slot: number): void;
  /** Whether another task may start beside a paused one, which keeps its memory. */
  hasMemoryToLend?(): boolean;
  /** Finds a free port and calls `portFound`. If absent, the worker sends port 0. */
  findPort?(slot: number): void;
  /** Returns the CPU and memory that running tasks use at present; undefined if unknown. */
  used?(): Used | undefined;
  /** Called when a quarantine begins. @param reason one line for users */
  quarantined?(reason: string, forMs: number): void;
  /** Called when another worker uses the name of this worker, which keeps trying to register. */
  nameTaken?(holder: string): void;
  /** Called when the draining worker has no tasks and no unconfirmed reports left. */
  drained(): void;
}

/** The result of a task, for its scheduler. */
export interface KeptResult {
  readonly owner: Address;
  readonly message: MessageOf<'ended'>;
}

export interface WorkerConfig {
  readonly name: string;
  /** The address of this worker. */
  readonly self: Address;
  /** Number of CPUs, which is the maximum number of running tasks unless tasks share CPUs. */
  readonly slots: number;
  /** Number of tasks whose CPUs others may use at a time. Default: `slots`. */
  readonly lends?: number | undefined;
  /** Maximum number of running tasks under policies that let tasks share a CPU. Default: `slots`. */
  readonly places?: number | undefined;
  /** Resources shared by its tasks, besides slots. */
  readonly capacity: Resources;
  /** Attributes such as rack, zone and model. */
  readonly attributes?: readonly { readonly name: string; readonly value: string }[] | undefined;
  /** The central to register with. */
  readonly central: Address;
  /** Interval in ms between registration attempts until the cluster's timings are known; 0: no retry. */
  readonly registerRetryMs: number;
  /** `HOST:PORT` of the HTTP server of its process. */
  readonly http?: string | undefined;
  /** Results that an earlier process could not hand over. */
  readonly results?: readonly KeptResult[] | undefined;
  /** Host at which tasks on other workers reach tasks on this one. */
  readonly host?: string | undefined;
}

/** Current state of a worker, for metrics. */
export interface WorkerLoad {
  readonly slots: number;
  /** Tasks of long and of short jobs that run or are being fetched. */
  readonly busy: { readonly long: number; readonly short: number };
  /** Queued probes and placed tasks. */
  readonly queued: number;
  /** Unconfirmed reports of ended tasks. */
  readonly unconfirmed: number;
  /** Tasks that are paused, because others use their CPUs. */
  readonly paused: number;
}

/** Counters since the start of the worker. */
export interface WorkerCounters {
  tasksStarted: number;
  tasksEnded: number;
  /** Number of steal requests sent. */
  stealAttempts: number;
  /** Number of steal requests that returned probes. */
  stealSuccesses: number;
  /** Probes stolen from others. */
  probesMoved: number;
  /** Entries returned without being served. */
  declined: number;
  /** Quarantines: tasks could not start, tasks failed that complete elsewhere, or the process was suspended. */
  pauses: number;
  /** CPU time (ms) that tasks have lent to others, in loans that have ended. */
  lentCpuMs: number;
}
