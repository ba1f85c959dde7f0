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
  /** Send the output of the task in slot `key`. */
  | 'output'
  /** The task in slot `key` is about to end, or should have ended. */
  | 'ahead'
  /** Check whether a task of the chunk that answered question `key` is not tiny. */
  | 'chunk'
  /** Report ends of tasks that other tasks of their chunks follow. */
  | 'ends'
  /** Report to central a slot that has been free for a while. */
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
   * How often the task has started, this time included; the task sees it as its attempt number. Absent: `attempt`.
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
  /** Undefined outside of a gang. */
  readonly gang?: GangPlace | undefined;
}

/** The rank of a task in its gang, and the hosts of all members. */
export interface GangPlace {
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
   */
  execute(slot: number, order: TaskOrder, gpus?: readonly number[], demand?: Resources): void;
  /** Ends the task in a slot; `taskEnded` follows. */
  kill(slot: number, reason: KillReason): void;
  /** Finds a free port and calls `portFound`. Without this method port 0 is sent. */
  findPort?(slot: number): void;
  /** CPU and memory that running tasks use at present; undefined, or without this method: unknown. */
  used?(): Used | undefined;
  /** The worker accepts nothing for a while. @param reason one line for users */
  quarantined?(reason: string, forMs: number): void;
  /** Another worker has the name; this one keeps trying to register. */
  nameTaken?(holder: string): void;
  /** The worker is draining and has no tasks and unconfirmed reports left. */
  drained(): void;
}

export interface WorkerConfig {
  readonly name: string;
  /** The address of this worker. */
  readonly self: Address;
  /** Maximum number of running tasks that share no CPU: its CPUs. */
  readonly slots: number;
  /** Maximum number of running tasks under policies that let tasks share a CPU. Default: as many as slots. */
  readonly places?: number | undefined;
  /** Resources shared by its tasks, besides slots. */
  readonly capacity: Resources;
  /** Attributes such as rack, zone and model. */
  readonly attributes?: readonly { readonly name: string; readonly value: string }[] | undefined;
  /** The central to register with. */
  readonly central: Address;
  /** Interval between registration attempts until the cluster's timings are known. ms; 0: no retry */
  readonly registerRetryMs: number;
  /** `HOST:PORT` of the HTTP server of its process. */
  readonly http?: string | undefined;
  /** Host at which tasks on other workers reach tasks on this one. */
  readonly host?: string | undefined;
}

/** Current state of a worker, for metrics. */
export interface WorkerStanding {
  readonly slots: number;
  /** Tasks of long and of short jobs that run or are being fetched. */
  readonly busy: { readonly long: number; readonly short: number };
  /** Queued probes and placed tasks. */
  readonly queued: number;
  /** Unconfirmed reports of ended tasks. */
  readonly unconfirmed: number;
}

/** Counted since the start. */
export interface WorkerCounters {
  tasksStarted: number;
  tasksEnded: number;
  /** Victims that this worker asked as a thief. */
  stealAttempts: number;
  /** Victims that gave something. */
  stealSuccesses: number;
  /** Probes stolen from others. */
  probesMoved: number;
  /** Entries returned without being served. */
  declined: number;
  /** Quarantines: tasks could not start, tasks failed that complete elsewhere, or the process was suspended. */
  pauses: number;
}
