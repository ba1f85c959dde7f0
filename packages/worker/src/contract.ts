import type {
  Address,
  AttemptNumber,
  Environment,
  KillReason,
  MessageOf,
  Resources,
  TaskIndex,
} from '@goshawk/core';

export type WorkerTimer =
  /** Register, or renew the lease. */
  | 'heartbeat'
  /** Look for questions and reports that nobody answered. */
  | 'sweep'
  /** Try to steal again. */
  | 'steal'
  /** The task in slot `key` has run for as long as it may. */
  | 'taskTimeout'
  /** Send what the task in slot `key` has printed. */
  | 'output'
  /** The task in slot `key` is about to end, or should have ended. */
  | 'ahead'
  /** Look whether a task of the chunk that answered question `key` takes long. */
  | 'chunk'
  /** Report the ends of tasks behind which others of their chunks run. */
  | 'ends'
  /** Tell central of a slot that has been free for a while. */
  | 'pull'
  /** Undrain, after a pause. */
  | 'quarantine';

/** A task for an executor to run. */
export interface TaskOrder {
  readonly payload: unknown;
  /** By which the task is to know its job, itself and this attempt. */
  readonly jobId: string;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
  /** How often the task has started, this time included: the attempt that the task itself sees. As `attempt` where it is missing. */
  readonly execution?: AttemptNumber | undefined;
  /** Return values of earlier stages; undefined: none. */
  readonly inputs?: MessageOf<'run'>['inputs'];
  /** The user of the job. */
  readonly user?: string | undefined;
  /** The job counts as long. */
  readonly long: boolean;
  /** The worker kills the task when it has run for so long, counted from `taskStarted`. */
  readonly timeoutMs: number | undefined;
  /** Undefined outside of a gang. */
  readonly gang?: GangPlace | undefined;
}

/** The place of a task in its gang, and where the members are. */
export interface GangPlace {
  readonly rank: number;
  readonly ranks: number;
  /** Hosts by rank; undefined until the gang has started. */
  readonly hosts?: readonly string[];
  /** Free on the host of rank 0. */
  readonly port?: number;
}

export interface WorkerEnvironment extends Environment<WorkerTimer> {
  /**
   * Starts a task in a slot; `taskStarted`, `taskOutput` and `taskEnded` come back through the worker's entries.
   *
   * @param gpus indexes of those that are the task's until it ends; undefined: the worker has none to give
   * @param demand what is set apart for the task, beside its slot
   */
  execute(slot: number, order: TaskOrder, gpus?: readonly number[], demand?: Resources): void;
  /** Ends the task in a slot; `taskEnded` follows. */
  kill(slot: number, reason: KillReason): void;
  /** Finds a free port; `portFound` follows. Without this method port 0 is sent. */
  findPort?(slot: number): void;
  /** The worker takes nothing for a while. @param reason one line for people */
  quarantined?(reason: string, forMs: number): void;
  /** Another worker has the name; this one goes on asking for it. */
  nameTaken?(holder: string): void;
  /** The cluster's policy takes no worker without a fixed number of slots: this one can do nothing there. */
  needsSlots?(policy: string): void;
  /** The worker drains and holds nothing any more: neither tasks nor reports. */
  drained(): void;
}

export interface WorkerConfig {
  readonly name: string;
  /** Its own address, as others see it. */
  readonly self: Address;
  /** Tasks that run at a time; 0: no fixed number, as many as fit its resources. */
  readonly slots: number;
  /** Resources that tasks share, besides slots. */
  readonly capacity: Resources;
  /** Rack, zone, model. */
  readonly attributes?: readonly { readonly name: string; readonly value: string }[] | undefined;
  /** The central to register with. */
  readonly central: Address;
  /** Between attempts to register, before the cluster's own timings are known. ms; 0: never again. */
  readonly registerRetryMs: number;
  /** `HOST:PORT` where others may look at its process over HTTP. */
  readonly http?: string | undefined;
  /** Host under which tasks of other workers reach those of this one. */
  readonly host?: string | undefined;
}

/** How things stand at a worker. */
export interface WorkerStanding {
  /** 0: no fixed number. */
  readonly slots: number;
  /** Slots that serve long work, and short work: a task, or a question for one. */
  readonly busy: { readonly long: number; readonly short: number };
  /** Probes and placed tasks that wait. */
  readonly queued: number;
  /** Ends of tasks that their owners have not confirmed. */
  readonly unconfirmed: number;
}

/** Counted since the start. */
export interface WorkerCounters {
  tasksStarted: number;
  tasksEnded: number;
  /** Victims asked, as a thief. */
  stealAttempts: number;
  /** …of which so many gave something. */
  stealSuccesses: number;
  /** Probes taken from others. */
  probesMoved: number;
  /** Entries that were given back unserved. */
  declined: number;
  /** Pauses in which it took nothing: it could start nothing, failed what others complete, or had stood still. */
  pauses: number;
}
