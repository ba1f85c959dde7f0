import type { ClusterSettings, JobInput, MessageType, Millis, Role, TaskRange } from '@goshawk/core';

/**
 * Everything decided about a run before it starts. Each element of the lists was drawn independently, so that any of
 * them can be omitted without changing the others. Times are true time, in ms from the start of the cluster.
 */
export interface Plan {
  readonly seed: string;
  readonly settings: ClusterSettings;
  readonly workers: readonly WorkerPlan[];
  readonly schedulers: readonly ProcessPlan[];
  readonly central: ProcessPlan;
  readonly network: NetworkPlan;
  readonly orders: readonly OrderPlan[];
  readonly faults: readonly Fault[];
  /** Whether schedulers share a journal, and take over from each other. */
  readonly shared?: boolean | undefined;
  /** Workers, central and messages have no faults, so no task runs twice and no run is lost. */
  readonly faultFree?: boolean | undefined;
  /** Only central has faults, so that the limits of users hold at all times. */
  readonly outages?: boolean | undefined;
  /** The operator limits users, and changes the limits; in order of time. */
  readonly users?: readonly UsersPlan[] | undefined;
  /** End of the faults. */
  readonly safetyMs: Millis;
}

export interface ProcessPlan {
  readonly name: string;
  /** Start time of the process. */
  readonly at: Millis;
  /** Clock drift: how much faster than true time it runs; negative: slower. */
  readonly drift: number;
  /** The error of its wall clock. */
  readonly wallErrorMs: Millis;
}

export interface WorkerPlan extends ProcessPlan {
  readonly slots: number;
  /** Memory; 0: tasks that request memory do not fit. */
  readonly memory: number;
  /** GPUs; 0 or absent: tasks that request a GPU do not fit. */
  readonly gpus?: number | undefined;
  /** Its attribute of that name, which jobs may require. */
  readonly zone?: string | undefined;
}

export interface NetworkPlan {
  readonly leastMs: Millis;
  /** Mean of the random part of the delay. */
  readonly moreMs: Millis;
  /** How long a disk takes to sync. */
  readonly syncMs: Millis;
}

/** The plan of one client's job. */
export interface OrderPlan {
  readonly key: string;
  readonly at: Millis;
  readonly job: JobInput;
  /** The order is sent when those of these keys are accepted, and its job starts after them. */
  readonly after?: readonly string[] | undefined;
  /** Whether the job is cancelled unless these complete. */
  readonly afterOk?: boolean | undefined;
  /** The scheduler that receives it first, whether or not it owns the key. */
  readonly via: number;
  /** Delay after which another client sends the same job; undefined: none does. */
  readonly doubledAfterMs?: Millis | undefined;
  /** Delay after which another client sends a different job with this key. */
  readonly conflictAfterMs?: Millis | undefined;
  /** Delay from acceptance to cancellation. */
  readonly cancelAfterMs?: Millis | undefined;
  /** Whether tasks that did not complete run again. */
  readonly retries: boolean;
  /** How they run again; absent: all of them, in place. */
  readonly retry?: RetryPlan | undefined;
  /** Tasks to cancel, and the delay after acceptance. */
  readonly cancelTasks?: CancelTasksPlan | undefined;
  /** Delay after acceptance until its client puts it on hold, and until the release. */
  readonly hold?: HoldPlan | undefined;
  /** The job is open: its client appends these, a list at a time, and then closes it. */
  readonly appends?: readonly (readonly AppendedTask[])[] | undefined;
}

export interface RetryPlan {
  /** Retries as a new job, which keeps the indices. */
  readonly asNew: boolean;
  /** Only tasks that failed, not those that were cancelled. */
  readonly failedOnly: boolean;
  /** Omits every third task, beginning with this one; absent: the retry names no tasks. */
  readonly leaveOut?: number | undefined;
}

export interface CancelTasksPlan extends TaskRange {
  readonly afterMs: Millis;
}

/** The content of the `--users` file from this time on. */
export interface UsersPlan {
  readonly at: Millis;
  readonly users: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

export interface HoldPlan {
  readonly afterMs: Millis;
  readonly forMs: Millis;
}

export type AppendedTask = Readonly<Record<string, unknown>>;

/** A process by its name, or all of a role. */
type Party = string;

/** Selects the messages that a network fault affects. */
export interface Traffic {
  readonly from: Party | Role | 'all';
  readonly to: Party | Role | 'all';
  readonly types?: readonly MessageType[] | undefined;
}

export type Fault = { readonly at: Millis } & (
  | ({ readonly kind: 'lose' | 'double'; readonly forMs: Millis; readonly probability: number } & Traffic)
  | ({
      readonly kind: 'delay';
      readonly forMs: Millis;
      readonly probability: number;
      readonly byMs: Millis;
    } & Traffic)
  /**
   * No message gets through. `holds`: messages arrive when the cut is repaired, as over a connection that has survived.
   */
  | ({
      readonly kind: 'cut';
      readonly forMs: Millis;
      readonly both: boolean;
      readonly holds: boolean;
    } & Traffic)
  /** Connections break and are reopened; some messages in flight are lost, the rest arrive in any order. */
  | ({ readonly kind: 'reconnect' } & Traffic)
  | {
      readonly kind: 'crash';
      readonly process: Party;
      readonly downMs: Millis;
      /** Whether its disk, if it has one, survives. */
      readonly disk: 'kept' | 'lost';
    }
  /** A worker is removed permanently, without a message; at least one remains. */
  | { readonly kind: 'remove'; readonly process: Party }
  | { readonly kind: 'pause'; readonly process: Party; readonly forMs: Millis }
  /** Each of its steps takes this long. */
  | { readonly kind: 'slow'; readonly process: Party; readonly forMs: Millis; readonly stepMs: Millis }
  | { readonly kind: 'wallJump'; readonly process: Party; readonly byMs: Millis }
  /** The next sync fails, whether or not it has written anything, which ends the process. */
  | {
      readonly kind: 'diskFails';
      readonly process: Party;
      readonly isWritten: boolean;
      readonly downMs: Millis;
    }
  | { readonly kind: 'diskSlow'; readonly process: Party; readonly forMs: Millis; readonly syncMs: Millis }
  /** The disk has no space for new jobs, or for anything. */
  | {
      readonly kind: 'diskFull';
      readonly process: Party;
      readonly forMs: Millis;
      readonly hasNoRoom: boolean;
    }
  /** The operator requests a takeover of a scheduler's jobs. */
  | { readonly kind: 'takeOver'; readonly process: Party }
  /** The operator drains a worker, and takes it back. */
  | { readonly kind: 'drain'; readonly process: Party; readonly forMs: Millis }
  /** SIGTERM; the process restarts this long after its exit. */
  | { readonly kind: 'terminate'; readonly process: Party; readonly downMs: Millis }
  /** Central is overloaded. */
  | { readonly kind: 'busy'; readonly forMs: Millis }
);

export type FaultKind = Fault['kind'];
export type FaultOf<K extends FaultKind> = Extract<Fault, { kind: K }>;
