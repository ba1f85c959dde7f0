import type {
  Address,
  Attributes,
  BatchPart,
  GangRule,
  JobFactValues,
  Lending,
  Millis,
  Needs,
  Segment,
  StageIndex,
  UnmatchedKind,
  Vector,
  WaitingReason,
} from '@goshawk/core';

/**
 * The contract of central policies. Central keeps one set of books: jobs with their stages, workers and runs. A
 * policy receives the changes and plans into a draft, which updates the books immediately and refuses what does
 * not fit.
 *
 * A policy is deterministic and pure. Any state it keeps in addition to the books (an order, a heap, virtual queues)
 * must follow from the changes alone. It plans once per turn, when something has changed or at the time that it
 * requested.
 */
export interface CentralPolicy {
  /**
   * Receives the changes since the last call: ended runs first, then workers, jobs and stages, then replies of the
   * solver, each group in order of time.
   */
  update(changes: readonly ClusterChange[], now: Millis): void;
  /** Starts and preempts tasks, and records expected starts, through the draft. */
  plan(cluster: ClusterView, draft: Draft, now: Millis): void;
  /** Explains why the stage waits, for `goshawk why`: a reason of the closed list, and one sentence of facts. */
  explain?(stage: StageView, cluster: ClusterView, now: Millis): PolicyExplanation | undefined;
  /**
   * Whether `explain` gives a reason for every task that fits and does not start. Tests then treat idle capacity
   * without a reason as a fault.
   */
  readonly explainsAll?: boolean;
  /** Returns fair shares, for `shares`; absent if the policy has none. */
  shares?(cluster: ClusterView): PolicyShares | undefined;
  /** Returns the order of service, for `why` and metrics; absent if the policy has no single order. */
  line?(now: Millis): QueueLine;
  /** Statistics for reports, by name. */
  readonly counters?: Readonly<Record<string, number>>;
  /** Throws `InvariantError` if the policy's state contradicts itself or the books. */
  checkInvariants?(cluster: ClusterView): void;
}

export type ClusterChange =
  /** Accepts tasks for the first time, or again. */
  | { readonly kind: 'opened'; readonly worker: WorkerView }
  /** Draining or quarantined: running tasks continue, no new tasks start. */
  | { readonly kind: 'closed'; readonly worker: WorkerView }
  /** The worker has more room than before, for any reason. */
  | { readonly kind: 'freed'; readonly worker: WorkerView }
  /** The worker reports less room than its runs leave. */
  | { readonly kind: 'shrank'; readonly worker: WorkerView }
  /** The worker has left. An `ended` event (`lost`) for each of its runs precedes this. */
  | { readonly kind: 'left'; readonly worker: WorkerView }
  /** A run that this policy did not start: another central or another policy did. */
  | { readonly kind: 'found'; readonly run: RunView }
  /** A run that was queued at its worker has started. */
  | { readonly kind: 'began'; readonly run: RunView }
  | { readonly kind: 'ended'; readonly run: RunView; readonly how: RunEnd }
  /** A run that was paused uses its CPUs again: its borrower has ended, or its worker has stopped waiting for that. */
  | { readonly kind: 'resumed'; readonly run: RunView }
  | { readonly kind: 'arrived'; readonly job: JobView }
  /** The estimate, class, weight or deadline has changed. */
  | { readonly kind: 'changed'; readonly job: JobView }
  /** None of its tasks waits or runs, and its owner does not declare it. Its id is reused. */
  | { readonly kind: 'gone'; readonly job: JobView }
  /** The tasks of the stage that wait without a worker have changed; read `stage.waiting`. */
  | { readonly kind: 'waiting'; readonly stage: StageView }
  /**
   * Short work that arrived without a job in these books, in slot time: estimate × tasks, or the run time of its
   * tasks.
   */
  | { readonly kind: 'shortWork'; readonly workMs: Millis }
  | { readonly kind: 'solved'; readonly id: SolveId; readonly answer: SolverAnswer };

/**
 * `done`: the slot is free; the task may have completed or failed. `declined`: the task never started and waits
 * again. `lost`: the worker is gone. `preempted`: this policy preempted it.
 */
export type RunEnd = 'done' | 'declined' | 'lost' | 'preempted';

/**
 * A job with waiting or running tasks, or one that its owner has declared, with its facts (`JOB_FACTS` in core). Books objects are mutable and keep their
 * identity as long as the thing they describe exists.
 */
export interface JobView extends JobFactValues {
  /** Small and dense; reused after the policy has received `gone`. */
  readonly id: number;
  /** Number of the job at its owner. */
  readonly number: number;
  /** Id of the job; only its number until its owner has enlisted. */
  readonly name: string;
  /** When its owner accepted it, on central's clock. */
  readonly arrivedAt: Millis;
  /** Weight of its user: twice the weight means twice the share. Default: 1. */
  readonly userWeight: number;
  /** The deadline on central's clock; Infinity: none. */
  readonly deadlineAt: Millis;
  /** Number of running tasks, including those in flight to a worker. */
  readonly running: number;
  /**
   * Stages in topological order, then the pilots of a sampled job; if owners do not declare jobs, only those that
   * appeared in a message.
   */
  readonly stages: readonly StageView[];
  /** The last of `stages`, if the job is or was sampled: tasks that run first, so that their run times classify the job. */
  readonly pilots: StageView | undefined;
  readonly runs: ReadonlySet<RunView>;
  /** Slot time that its tasks have received. */
  attainedMs(now: Millis): Millis;
  /** Number of its runs at workers with this value of an attribute over which it spreads (`stage.needs.spread`). */
  runningAt(attribute: string, value: string): number;
}

/**
 * Similar tasks of one job. The pilots of a sampled job are a separate stage with part `pilots`, whose `tasks` and
 * `ended` are 0, because the stage that they come from counts them; while they run, the rest of the job has part
 * `early`.
 */
export interface StageView {
  /** Small and dense; reused after the job is gone. */
  readonly id: number;
  readonly job: JobView;
  /** Index of the stage at its owner. */
  readonly index: StageIndex;
  readonly part: BatchPart;
  /** Indices of the stages that must complete first. */
  readonly after: readonly number[];
  /** Number of all tasks; 0 if owners do not declare jobs. */
  readonly tasks: number;
  /** Tasks known to be completed or given up; 0 if owners do not declare jobs. */
  readonly ended: number;
  /** Tasks that may start and have no worker. */
  readonly waiting: number;
  readonly running: number;
  /** Amounts by index of `ClusterView.resources`; [0] is slots and always 1. */
  readonly demand: Vector;
  /** The owner's estimate of the mean run time; 0: unknown. */
  readonly estimateMs: Millis;
  /** The job is known to be long; its pilots have not determined the estimate yet. */
  readonly estimateFollows: boolean;
  /** Distribution of run times, if the estimator knows it. */
  readonly distribution: readonly Segment[] | undefined;
  /** When the first waiting task arrived, or when a worker was last found for one. */
  readonly waitsSince: Millis;
  /** The demand and the required attributes; stages with equal needs share one object. */
  readonly needs: Needs;
  /** Whether the tasks start together or not at all. */
  readonly gang: boolean;
  /** Whether running tasks may pause while others use their CPUs, as far as their submitter is concerned. */
  readonly mayLend: boolean;
  /** Whether its tasks use GPUs; they never pause, because they would keep these from others. */
  readonly hasGpus: boolean;
  /** Workers that its owner declined recently, usually because a retry must avoid them; undefined: none. */
  readonly declinedBy: ReadonlyMap<WorkerView, Millis> | undefined;
  /** Lists those of `declinedBy` where its tasks have failed. */
  readonly avoided: readonly WorkerView[];
}

export interface WorkerView {
  /** Small and dense; reused after the policy has received `left`. Lower ids joined earlier, except for reused ids. */
  readonly id: number;
  readonly address: Address;
  readonly attributes: Attributes;
  readonly capacity: Vector;
  /** Capacity less running tasks and tasks in flight; of GPUs, the most that one task can get. */
  readonly free: Vector;
  /** Number of tasks of this demand that fit at the same time. @param ending runs that will have ended by then */
  roomFor(demand: Vector, ending?: readonly RunView[]): number;
  /** Accepts new tasks. */
  readonly open: boolean;
  /** Runs, including those in flight, in order of arrival. */
  readonly runs: readonly RunView[];
}

export interface RunView {
  /** Small and dense; reused after the policy has received `ended`. */
  readonly id: number;
  readonly stage: StageView;
  readonly worker: WorkerView;
  /** When the run started, as far as central knows: the policy's start, or the worker's report. */
  readonly startedAt: Millis;
  /** Queued at the worker and not started: it takes no resources yet. */
  readonly isQueued: boolean;
  /** Whether the worker has confirmed the run. */
  readonly isConfirmed: boolean;
  /** The policy has requested its preemption; it occupies its resources until it ends. */
  readonly isPreempted: boolean;
  /** Runs that are paused for this one; they resume when it ends. */
  readonly lenders: readonly RunView[];
  /** Its only lender is its parent, which is not paused, but shares its CPUs until this run ends. */
  readonly isShared: boolean;
  /** The run that uses its CPUs; undefined: it is not paused. */
  readonly borrower: RunView | undefined;
  /** Slots and CPUs that it lends at present; empty: none. */
  readonly lent: Vector;
  /** For how long it has been paused until now. */
  pausedMs(now: Millis): Millis;
}

export type { Attributes };

export interface ClusterView {
  /** Names of the resources, `slot` first. Missing entries at the end of a vector are 0. */
  readonly resources: readonly string[];
  /** All registered workers, including closed ones, in order of id. */
  readonly workers: Iterable<WorkerView>;
  /** Total capacity of the open workers. */
  readonly capacity: Vector;
  readonly jobs: Iterable<JobView>;
  /** The running task that submitted the job, of the same user; undefined: none, or it has ended. */
  parentOf(job: JobView): RunView | undefined;
  /** Incremented by every change. */
  readonly version: number;
}

export interface Draft {
  /**
   * Starts one waiting task of the stage at the worker.
   *
   * @param loan runs there that pause and lend their CPUs to the task until it ends
   * @returns the run; undefined if no task waits, the worker is closed or lacks a required attribute, the demand does
   * not fit, the stage is a gang with several waiting tasks, or a lender may not lend (see `canLend`)
   */
  start(stage: StageView, worker: WorkerView, loan?: Loan): RunView | undefined;
  /**
   * Queues one waiting task of the stage at the worker, regardless of free resources (Hawk §3.7). Only tasks that
   * their owner has named can be queued: those of classes with the route `central`.
   *
   * @returns the run; undefined if no such task waits, or if the worker is closed, lacks a required attribute or is
   * too small
   */
  place(stage: StageView, worker: WorkerView): RunView | undefined;
  /** Starts all of these or none; for a gang, all waiting tasks. @returns the runs, in order */
  gang(
    starts: readonly { readonly stage: StageView; readonly worker: WorkerView }[],
  ): readonly RunView[] | undefined;
  /**
   * Kills the run; its task waits again as another attempt, which does not count as a retry. Its resources are free
   * once it has ended. Repeated requests are harmless.
   */
  preempt(run: RunView): void;
  /**
   * Records for `why` when and where the job is expected to start. @throws InputError if the time or the text is
   * invalid
   */
  expect(job: JobView, at: Millis, where?: string): void;
  /**
   * Requests another plan at this time even if nothing changes; the earliest requested time counts. @throws
   * InputError unless it is after now
   */
  again(at: Millis): void;
  /** Hands a problem to the solver, whose answer arrives as `solved`. A new problem replaces an unanswered one. */
  solve(problem: SolverProblem): SolveId;
}

/** Runs that pause, so that another task can use their CPUs. */
export interface Loan {
  readonly lenders: readonly RunView[];
  /**
   * After this time the lenders continue beside the borrower, and the worker starts nothing until it has made up for it.
   * Infinity: the lender is the parent of the borrower, and shares its CPUs instead of pausing (see `canShare`).
   */
  readonly atMostMs: Millis;
}

export type SolveId = number;

/** Maximize cost · x subject to rows; see `three-sigma/formulate`. */
export interface SolverProblem {
  /** Version of the books on which the problem is based. */
  readonly version: number;
  readonly model: unknown;
}

export type SolverAnswer =
  | { readonly kind: 'solution'; readonly version: number; readonly solution: unknown }
  /** The solver failed or exceeded its time. */
  | { readonly kind: 'none'; readonly version: number; readonly error: string };

export interface PolicyExplanation {
  readonly reason: WaitingReason;
  readonly sentence: string;
}

/** Fair shares of the cluster under the policy. */
export interface PolicyShares {
  /** Unit that receives weighted equal shares. */
  readonly by: 'job' | 'user';
  /** Fair share by resource index; empty for an unknown job. */
  dueTo(job: JobView): ArrayLike<number>;
}

/** The user of a waiting stage, in a policy that serves the user with the lowest share first. */
export interface UserTurn {
  /** Identifies the user. */
  readonly user: unknown;
  /** No task of the user has started, so it is served before all others. */
  readonly isFirst: boolean;
  /** Fraction of the cluster that the user has, or has had, relative to its weight. Finite. */
  readonly share: number;
  readonly weight: number;
  /** Fraction of the cluster that one more task of the stage uses. */
  readonly taskShare: number;
}

/** The latest start of a job with a deadline, and the time after which it cannot meet the deadline. */
export interface LatestStart {
  readonly startAt: Millis;
  readonly hopelessAt: Millis;
}

/** The order in which a policy serves waiting stages. */
export interface QueueLine {
  /** Kind of the stage: its class, or `small` or `large` while its pilots run. */
  kindOf(stage: StageView): UnmatchedKind;
  comesBefore(one: StageView, other: StageView): boolean;
  /** Absent if the policy serves the stages of all users in one order. */
  turnOf?(stage: StageView): UserTurn | undefined;
  /** Number of workers kept for the stage until their free resources suffice. */
  keptFor(stage: StageView): number;
  /** When the job must start to meet its deadline; absent, or undefined: it has no deadline that the policy plans for. */
  latestStartOf?(job: JobView): LatestStart | undefined;
  /** CPUs that run long tasks, and their maximum. */
  readonly longRunning: number;
  readonly longLimit: number;
  /** CPUs that a typical short task could borrow now; absent: none. */
  readonly lendable?: number;
  /** CPUs that short tasks should find: those that long tasks leave free, and those that can be borrowed; absent: none. */
  readonly reserve?: number;
}

/** The description of a policy, from which the table, help texts, fuzz tests and docs are generated. */
export interface PolicyModule<Options extends PolicyOptions = PolicyOptions> {
  /** One line for help texts. */
  readonly title: string;
  /** The policy uses a solver. It sends at most one problem per cycle, whose length is its option `cycleMs`. */
  readonly solves?: boolean;
  /** Owners declare whole jobs: stages, predecessors, demands, estimates, deadline, weight, user. */
  readonly declares: boolean;
  /** Says which tasks the policy starts together, with `Draft.gang`: those of stages with `gang`, or of all stages. Default: none. */
  readonly gangs?: GangRule;
  /** Whether a job that has not started by its deadline fails. Its owner enforces this, by its clock. */
  abandons?(options: Options): boolean;
  /** Whether the policy places tasks by their demands; workers may then have no fixed number of slots. */
  readonly packs?: boolean;
  /** Every option with its default, bounds and one line of help. */
  readonly options: { readonly [N in keyof Options]: PolicyOption<Options[N]> };
  make(options: Options, context: PolicyContext): CentralPolicy;
}

export type PolicyOptions = Readonly<Record<string, number | string | boolean>>;

export interface PolicyOption<T> {
  readonly default: T;
  readonly help: string;
  /** Bounds of a number, inclusive. */
  readonly min?: number;
  readonly max?: number;
  /** The dedicated command-line flag that sets it, if there is one; other settings depend on that flag, too. */
  readonly flag?: string;
  /** The value is a job size, or several separated by commas; a replay that scales run times scales it, too. */
  readonly scales?: boolean;
  /** Permitted values of a text. */
  readonly choices?: readonly T[];
}

/** The option values for descriptions declared `as const`. */
export type ValuesOf<Described> = {
  readonly [N in keyof Described]: Described[N] extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : Described[N] extends { readonly default: infer Default }
      ? Widened<Default>
      : never;
};

type Widened<T> = T extends number ? number : T extends boolean ? boolean : string;

export interface PolicyContext {
  /** A job with this estimate (ms) or more is long. It changes if central learns the cutoff. */
  readonly cutoffMs: Millis;
  /** Whether run times are known when a job arrives, from its submitter or an oracle. */
  readonly sizesAreGiven: boolean;
  /** Fraction of slots reserved for short tasks, or `auto`. */
  readonly reserve: number | 'auto';
  /** Selects the waiting tasks that may start on CPUs that running tasks lend; absent: all. */
  readonly lend?: Lending;
  /** Time (ms) within which workers register with a new central; absent: immediately. */
  readonly joinMs?: Millis;
  /** The next number of a seeded stream, uniform in [0, 1). */
  random(): number;
}
