import type {
  Address,
  ClusterOutline,
  ClusterSettings,
  ClusterShares,
  Counters,
  Environment,
  EventPage,
  HappenedEvent,
  HistoryPage,
  Millis,
  Role,
  UnmatchedKind,
  UserGrants,
  WorkerState,
} from '@goshawk/core';
import type { SolverProblem } from '@goshawk/policies';

export type CentralTimer =
  /** Check for expired leases. */
  | 'lease'
  /** Publish changes of the membership. */
  | 'publish'
  /** Plan at the time that the policy requested. */
  | 'plan'
  /** Publish which workers are occupied by long tasks. */
  | 'occupied'
  /** Check for overload. */
  | 'relief'
  /** Ask for outlines of jobs, to forecast their ends. */
  | 'outlook'
  /** Record the state of the cluster. */
  | 'chronicle';

export interface CentralEnvironment extends Environment<CentralTimer> {
  /**
   * Returns for how many ms the process has been busy since its start. Central uses it to detect overload. Absent in
   * drivers where processing takes no time, such as the simulator.
   */
  readonly busyMs?: (() => Millis) | undefined;
  /** Sends a problem to a solver, whose answer arrives through `solved`. Absent without a solver. */
  readonly solve?: ((id: number, problem: SolverProblem) => void) | undefined;
  /**
   * Forecasts the ends of jobs elsewhere, so that this process does not wait; the answer arrives through `foreseen`. Absent: no
   * end is known.
   */
  readonly foresee?: ((outline: ClusterOutline) => void) | undefined;
  /** Receives each exception that a custom policy throws, so that central continues. If absent, central exits. */
  readonly policyFailed?: ((error: unknown) => void) | undefined;
  /** Called when another central runs this cluster: the process must exit and report the error. */
  readonly superseded?: ((error: Error) => void) | undefined;
  /** Called when this central and another one both have followers, so that neither exits automatically. */
  readonly contested?: ((other: string, followers: number) => void) | undefined;
  /** Returns problems that only the driver can detect and an operator must fix, one line each. */
  readonly warnings?: (() => readonly string[]) | undefined;
  /** Returns the events after a number, and since a time; absent: none are kept. */
  readonly events?: ((after: number, since: number | undefined) => EventPage) | undefined;
  /** Receives the state of the cluster from time to time, as a point of its history. Absent: none is kept. */
  readonly recordHistory?: ((sample: HistorySample) => void) | undefined;
  /** Returns the points of the history after a time (s); absent: none are kept. */
  readonly history?: ((after: number) => HistoryPage) | undefined;
  /** Called for each cluster event that belongs in the log. */
  readonly eventOccurred?: ((event: ClusterEvent) => void) | undefined;
  /** Called for each event that a scheduler reports. `at`: wall clock of the event. ms */
  readonly noticeReceived?: ((notice: ReportedNotice) => void) | undefined;
  /** Called when a scheduler's journal lacks its last known incarnation: an older copy of the journal was restored. */
  readonly journalRolledBack?: ((scheduler: string) => void) | undefined;
  /** How often a copy of each journal was admitted, by tag, according to the former central. Absent: unknown. */
  readonly journalMoves?: ReadonlyMap<string, number> | undefined;
  /** Called when a copy of a journal is admitted, or one that was admitted earlier joins. */
  readonly journalMoved?: ((tag: string, moves: number) => void) | undefined;
}

/** The state of the cluster at one time. */
export interface HistorySample {
  readonly waiting: number;
  readonly busy: number;
  readonly slots: number;
  readonly shares: ClusterShares;
  /** Present and recently lost workers, and the whole percents of their CPUs that their tasks request, or `LOAD_LOST`. */
  readonly workers: readonly { readonly name: string; readonly slots: number; readonly load: number }[];
  /** Counters by scheduler; schedulers that have not answered are absent. */
  readonly counters: Readonly<Record<string, Counters>>;
}

/** Cluster event, usually a membership change. Workers and schedulers are identified by name. */
export type ClusterEvent =
  | {
      readonly kind: 'worker-joined';
      readonly worker: string;
      readonly address: string;
      readonly slots: number;
    }
  | {
      readonly kind: 'worker-lost';
      readonly worker: string;
      readonly address: string;
      readonly cause: LossCause;
      readonly silentMs: Millis;
      /** Ids of some of the jobs whose tasks ran there. */
      readonly jobs: readonly string[];
      readonly tasks: number;
    }
  | { readonly kind: 'worker-missing'; readonly worker: string }
  | { readonly kind: 'resources-ignored'; readonly worker: string; readonly resources: readonly string[] }
  | { readonly kind: 'worker-left'; readonly worker: string; readonly address: string }
  | { readonly kind: 'worker-removed'; readonly worker: string; readonly by: string | undefined }
  | { readonly kind: 'worker-quarantined'; readonly worker: string; readonly reason: string }
  | { readonly kind: 'worker-cured'; readonly worker: string }
  | {
      readonly kind: 'worker-drains';
      readonly worker: string;
      readonly on: boolean;
      /** Name of the key of the client. */
      readonly by: string | undefined;
    }
  | { readonly kind: 'worker-drained'; readonly worker: string }
  | {
      readonly kind: 'scheduler-joined';
      readonly scheduler: string;
      readonly tag: string;
      readonly epoch: number;
      readonly address: string;
      readonly adopted: boolean;
    }
  | {
      readonly kind: 'scheduler-lost';
      readonly scheduler: string;
      readonly tag: string;
      readonly address: string;
      readonly cause: LossCause;
      readonly silentMs: Millis;
      readonly jobs: number;
    }
  | {
      readonly kind: 'scheduler-left';
      readonly scheduler: string;
      readonly tag: string;
      readonly jobs: number;
    }
  | {
      readonly kind: 'scheduler-given-up';
      readonly scheduler: string;
      readonly tag: string;
      readonly jobs: number;
    }
  | {
      readonly kind: 'takeover-requested';
      readonly scheduler: string;
      readonly tag: string;
      readonly by: string;
      readonly epoch: number;
    }
  | {
      readonly kind: 'takeover-completed';
      readonly scheduler: string;
      readonly tag: string;
      readonly epoch: number;
    }
  | {
      readonly kind: 'schedulers-missing';
      readonly schedulers: readonly string[];
      /** Names the schedulers whose jobs no other lists; the jobs of the rest have another owner, or have ended. */
      readonly unlisted: readonly string[];
    }
  | { readonly kind: 'cutoff-changed'; readonly fromMs: Millis; readonly toMs: Millis }
  | { readonly kind: 'task-preempted'; readonly job: string; readonly worker: string };

export type ReportedNotice = Pick<HappenedEvent, 'kind' | 'text' | 'at'> & { readonly scheduler: string };

/** `lease`: its lease expired. `replaced`: another process took its name. `takeover`: an operator requested it. */
export type LossCause = 'lease' | 'replaced' | 'takeover';

export interface CentralConfig {
  readonly name: string;
  /** Names of schedulers to report as missing until they register. */
  readonly expectedSchedulers?: readonly string[] | undefined;
  readonly self: Address;
  /** Additional addresses at which another central can reach this one. */
  readonly at?: readonly Address[] | undefined;
  /** Wall clock minus the machine's clock, to warn of clocks that differ; absent: they are not compared. */
  readonly wallOffsetMs?: Millis | undefined;
  /** Settings that central sends to each worker and scheduler that joins. */
  readonly settings: ClusterSettings;
  /** Grants of the users (`--users`); absent: equal weights. */
  readonly users?: UserGrants | undefined;
  /** Least number of short tasks that arrive per second during an overload; default: 100. */
  readonly overloadedArrivals?: number | undefined;
}

/** HTTP address of a process. */
export interface ScrapeTarget {
  readonly role: Role;
  /** `HOST:PORT` */
  readonly at: string;
}

/** State of the cluster as known to central, for metrics. */
export interface CentralStatus {
  /** Numbers of workers by partition and state; empty combinations are omitted. */
  readonly workers: readonly CountedWorkers[];
  /** Workers lost within the last hour that have not returned. */
  readonly lostWorkers: number;
  readonly schedulers: number;
  /** Disconnected schedulers that are expected to return, because they keep a journal. */
  readonly schedulersAway: number;
  /** Expected schedulers that are neither members nor known to be away. */
  readonly schedulersMissing: number;
  /** Shared journals of disconnected or missing schedulers. */
  readonly unownedJournals: number;
  /** Placed tasks that are not known to have ended. */
  readonly placedTasks: number;
  /** Waiting tasks that central places in the queues of workers. */
  readonly pendingTasks: number;
  /** Tasks that wait for a match, by kind. */
  readonly unmatchedTasks: Readonly<Partial<Record<UnmatchedKind, number>>>;
  readonly matches: number;
  /** Whether central matches short jobs; false while it is overloaded. */
  readonly isMatching: boolean;
}

export interface CountedWorkers {
  readonly partition: 'general' | 'short';
  readonly state: WorkerState;
  readonly count: number;
  readonly slots: number;
}

/** Counters since central started. */
export interface CentralCounters {
  tasksPlaced: number;
  workersJoined: number;
  workersLost: number;
  schedulersLost: number;
}
