import type {
  Address,
  ClusterSettings,
  Environment,
  Millis,
  Role,
  UnmatchedKind,
  UserGrants,
  WorkerState,
} from '@goshawk/core';
import type { SolverProblem } from '@goshawk/policies';

export type CentralTimer =
  /** Look for leases that have ended. */
  | 'lease'
  /** Tell changes of the membership. */
  | 'publish'
  /** The policy asked for this time. */
  | 'plan'
  /** Tell schedulers which workers are occupied. */
  | 'occupied'
  /** See whether there is too much to do. */
  | 'relief';

export interface CentralEnvironment extends Environment<CentralTimer> {
  /**
   * For how long the process has been busy since its start. ms. Central takes what it cannot keep up with by this; a
   * driver in which work takes no time has none.
   */
  readonly busyMs?: (() => Millis) | undefined;
  /** Hands a problem to a solver, whose answer comes by the entry `solved`. A driver without a solver has none. */
  readonly solve?: ((id: number, problem: SolverProblem) => void) | undefined;
  /** Receives exceptions of a custom policy; central continues. Without this handler it ends. */
  readonly policyFailed?: ((error: unknown) => void) | undefined;
  /** Another central has the cluster: the process is to end, and say so. */
  readonly superseded?: ((error: Error) => void) | undefined;
  /** Another central has this many followers, and so has this one: neither exits automatically. */
  readonly contested?: ((other: string, followers: number) => void) | undefined;
  /** Problems that the driver sees and an operator must fix, one line each. */
  readonly warnings?: (() => readonly string[]) | undefined;
  /** An event in the cluster for the operator's log. */
  readonly happened?: ((event: ClusterEvent) => void) | undefined;
  /** The journal of a scheduler does not know the incarnation that central has heard last: it is of an earlier time. */
  readonly journalWentBack?: ((scheduler: string) => void) | undefined;
}

/** Changes of members, by name. */
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
      /** Ids of jobs of which tasks ran there: some of them. */
      readonly jobs: readonly string[];
      readonly tasks: number;
    }
  | { readonly kind: 'worker-missing'; readonly worker: string }
  | { readonly kind: 'worker-left'; readonly worker: string; readonly address: string }
  | { readonly kind: 'worker-quarantined'; readonly worker: string; readonly reason: string }
  | { readonly kind: 'worker-cured'; readonly worker: string }
  | { readonly kind: 'worker-drains'; readonly worker: string; readonly on: boolean }
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
  | { readonly kind: 'schedulers-missing'; readonly schedulers: readonly string[] }
  | { readonly kind: 'cutoff-changed'; readonly fromMs: Millis; readonly toMs: Millis }
  | { readonly kind: 'task-preempted'; readonly job: string; readonly worker: string };

/** Its lease expired; another process replaced it; an operator requested it. */
export type LossCause = 'lease' | 'replaced' | 'takeover';

export interface CentralConfig {
  readonly name: string;
  /** Names of schedulers that are missed where they are not there. */
  readonly expectedSchedulers?: readonly string[] | undefined;
  readonly self: Address;
  /** Additional addresses where another central can reach it. */
  readonly at?: readonly Address[] | undefined;
  /** Settings for all parties that join. */
  readonly settings: ClusterSettings;
  /** Grants of the users (`--users`); without them all have the same weight. */
  readonly users?: UserGrants | undefined;
}

/** HTTP address of a process. */
export interface ScrapeTarget {
  readonly role: Role;
  /** `HOST:PORT` */
  readonly at: string;
}

/** How things stand in the cluster, as central knows it. */
export interface CentralStanding {
  /** Workers by partition and state, in that order; those that there are none of are left out. */
  readonly workers: readonly CountedWorkers[];
  /** Those that were lost within the last hour and have not come back. */
  readonly lostWorkers: number;
  readonly schedulers: number;
  /** Schedulers that are gone and are expected back, since they keep a journal. */
  readonly schedulersAway: number;
  /** Schedulers that are expected and have not come since central was started. */
  readonly schedulersMissing: number;
  /** Journals of away or missing schedulers that others can read. */
  readonly unownedJournals: number;
  /** Tasks that were placed and are not known to have ended. */
  readonly placedTasks: number;
  /** Tasks that no worker can take at present. */
  readonly pendingTasks: number;
  /** Tasks that wait for a worker to be matched with, by what is known of them. */
  readonly unmatchedTasks: Readonly<Partial<Record<UnmatchedKind, number>>>;
  readonly matches: number;
  /** It matches short jobs; if not, it has too much to do. */
  readonly isMatching: boolean;
}

export interface CountedWorkers {
  readonly partition: 'general' | 'short';
  readonly state: WorkerState;
  readonly count: number;
  readonly slots: number;
}

/** Counted since the start. */
export interface CentralCounters {
  tasksPlaced: number;
  workersJoined: number;
  workersLost: number;
  schedulersLost: number;
}
