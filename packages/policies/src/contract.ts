import type {
  Address,
  Attributes,
  BatchPart,
  Millis,
  Priority,
  Segment,
  StageIndex,
  UnmatchedKind,
  Vector,
} from '@goshawk/core';

/**
 * The contract of central policies. Central keeps one set of books: jobs with their stages, workers, runs. A policy
 * hears what has changed in them, and plans into a draft, which changes the books at once and refuses what does not fit.
 *
 * A policy is deterministic and pure. What it keeps beside the books (an order, a heap, virtual queues) follows from the
 * news alone. It is asked once a turn, when something has changed, and when the time it asked for has come.
 */
export interface CentralPolicy {
  /**
   * Reports the changes since the last call: ended runs first, then workers, jobs and stages, and replies of
   * the solver. Each group is in order of time.
   */
  heard(news: readonly News[], now: Millis): void;
  /** Starts, preempts and expects what it wants by way of the draft. */
  plan(cluster: ClusterView, draft: Draft, now: Millis): void;
  /** Why the stage waits, for `why`: a reason of the closed list, and one sentence of facts. */
  explain?(stage: StageView, cluster: ClusterView, now: Millis): PolicyExplanation | undefined;
  /** `explain` gives a reason for every task that fits and does not start; without one, free room is a fault. */
  readonly explainsAll?: boolean;
  /** Returns who is entitled to what, for `shares`; a policy that does not share fairly has none. */
  shares?(cluster: ClusterView): PolicyShares | undefined;
  /** Returns the order of service, for `why` and metrics; a policy without one order has none. */
  line?(now: Millis): QueueLine;
  /** How it has gone so far, for reports: counts by name. */
  readonly tally?: Readonly<Record<string, number>>;
  /** Throws `InvariantError` when its own books contradict themselves or the cluster's. */
  checkInvariants?(cluster: ClusterView): void;
}

export type News =
  /** Takes work for the first time, or again. */
  | { readonly kind: 'opened'; readonly worker: WorkerView }
  /** Drains, or is quarantined: what runs there goes on, nothing new starts. */
  | { readonly kind: 'closed'; readonly worker: WorkerView }
  /** There is more room at the worker than before, for whatever reason. */
  | { readonly kind: 'freed'; readonly worker: WorkerView }
  /** There is less room at the worker than its runs leave, by its own account. */
  | { readonly kind: 'shrank'; readonly worker: WorkerView }
  /** Its runs have ended as `lost` before this. */
  | { readonly kind: 'left'; readonly worker: WorkerView }
  /** Runs there without this policy's doing: another central started it, or another policy. */
  | { readonly kind: 'found'; readonly run: RunView }
  /** It was queued at its worker, and has started there. */
  | { readonly kind: 'began'; readonly run: RunView }
  | { readonly kind: 'ended'; readonly run: RunView; readonly how: RunEnd }
  | { readonly kind: 'arrived'; readonly job: JobView }
  /** Its estimate, class, weight or deadline. */
  | { readonly kind: 'changed'; readonly job: JobView }
  /** Nothing of it waits or runs, or its owner has withdrawn it. */
  | { readonly kind: 'gone'; readonly job: JobView }
  /** The tasks of the stage that wait without a worker are others than before; read `stage.waiting`. */
  | { readonly kind: 'waiting'; readonly stage: StageView }
  /** Short work that came without a job of these books: estimate × tasks, or what ran of it, in slot time. */
  | { readonly kind: 'shortWork'; readonly workMs: Millis }
  | { readonly kind: 'solved'; readonly id: SolveId; readonly answer: SolverAnswer };

/**
 * `done`: its slot is free, the task may have completed or failed. `declined`: it never started, the task waits again.
 * `lost`: its worker is gone. `preempted`: by this policy.
 */
export type RunEnd = 'done' | 'declined' | 'lost' | 'preempted';

/**
 * A job of which a task waits or runs, or will, where owners declare jobs. Objects of the books are the same ones for as
 * long as what they stand for exists, and change.
 */
export interface JobView {
  /** Small and dense; given out again after `gone` was heard. */
  readonly id: number;
  readonly owner: Address;
  /** Its number at its owner. */
  readonly number: number;
  /** When its owner accepted it, by the clock of central. */
  readonly arrivedAt: Millis;
  /** Empty: unknown. */
  readonly user: string;
  /** Its priority is a factor of it. */
  readonly weight: number;
  /** Weight of its user: twice the weight means twice the share. Default: 1. */
  readonly userWeight: number;
  /** Its running tasks may be ended for a job that would otherwise miss its deadline. */
  readonly preemptible: boolean;
  readonly priority: Priority;
  /** The deadline on central's clock; Infinity: none. */
  readonly deadlineAt: Millis;
  /** Value of meeting the deadline; 0: the policy's default. */
  readonly value: number;
  /** Attributes that a worker should have; empty: no preference. */
  readonly prefers: Attributes;
  /** Its class as its owner judges it. */
  readonly long: boolean;
  /** In all stages. */
  readonly tasks: number;
  /** Tasks that run, or are on their way to a worker. */
  readonly running: number;
  /** In an order in which they can run. Where owners do not declare jobs: those that were heard of. */
  readonly stages: readonly StageView[];
  readonly runs: ReadonlySet<RunView>;
  /** Slot time that its tasks have had. */
  attainedMs(now: Millis): Millis;
}

/**
 * Tasks of one job that are alike. The pilots of a job that is sampled are a stage of their own, of part `pilots`, which
 * is not among `job.stages`; while they run, the rest of the job has part `early`.
 */
export interface StageView {
  /** Small and dense; given out again after the job is gone. */
  readonly id: number;
  readonly job: JobView;
  /** At its owner. */
  readonly index: StageIndex;
  readonly part: BatchPart;
  /** Indices of the stages that must complete first. */
  readonly after: readonly number[];
  /** In all; 0 where owners do not declare jobs. */
  readonly tasks: number;
  /** Completed or given up for good, as far as is known; 0 where owners do not declare jobs. */
  readonly ended: number;
  /** May start, and have no worker. */
  readonly waiting: number;
  readonly running: number;
  /** Amounts by index of `ClusterView.resources`; [0] is slots, 1 for every task. */
  readonly demand: Vector;
  /** Mean run time of its tasks as the owner believes it; 0: nothing is known. */
  readonly estimateMs: Millis;
  /** The job is long; how long its tasks run, its pilots have yet to tell. */
  readonly estimateFollows: boolean;
  /** Distribution of run times, if the estimator knows it. */
  readonly distribution: readonly Segment[] | undefined;
  /** When its first task that waits came, or a worker was last found for one. */
  readonly waitsSince: Millis;
  /** Attributes that a worker must have to run a task of it; undefined: any worker may. See `mayRun`. */
  readonly requires: Attributes | undefined;
  /** Its tasks start together or not at all. */
  readonly gang: boolean;
  /** Workers that its owner had no task for just now, mostly since a retry is to go elsewhere; undefined: none. */
  readonly declinedBy: ReadonlyMap<WorkerView, Millis> | undefined;
}

export interface WorkerView {
  /** Small and dense; given out again after `left` was heard. Lower ids joined earlier, reuse aside. */
  readonly id: number;
  readonly address: Address;
  readonly attributes: Attributes;
  readonly capacity: Vector;
  /** Capacity less what runs there or is on its way there; of GPUs, the most that one task can have. */
  readonly free: Vector;
  /** Tasks of this demand for which there is room side by side. */
  roomFor(demand: Vector): number;
  /** Takes work. */
  readonly open: boolean;
  /** Runs, those on their way included, in the order in which they came. */
  readonly runs: readonly RunView[];
}

export interface RunView {
  /** Small and dense; given out again after `ended` was heard. */
  readonly id: number;
  readonly stage: StageView;
  readonly worker: WorkerView;
  /** When it was started, as far as central knows: the policy's start, or what the worker says. */
  readonly startedAt: Millis;
  /** It was placed in the worker's own queue, and has not started: it takes no room yet. */
  readonly isQueued: boolean;
  /** The worker has said that it is there. */
  readonly isConfirmed: boolean;
  /** The policy has asked for its end: its room is taken until that is heard. */
  readonly isPreempted: boolean;
}

export type { Attributes };

export interface ClusterView {
  /** Names of the resources, `slot` first. A vector's tail that is missing counts as 0. */
  readonly resources: readonly string[];
  /** All that joined, those that take no work included, in order of id. */
  readonly workers: Iterable<WorkerView>;
  /** Sum of the capacity of those that take work. */
  readonly capacity: Vector;
  readonly jobs: Iterable<JobView>;
  /** Grows with every change. */
  readonly version: number;
}

export interface Draft {
  /**
   * Starts one waiting task of the stage at the worker.
   *
   * @returns the run; undefined where nothing waits, the worker is closed or lacks what is required, the demand does not fit, or
   *   several tasks of a gang wait
   */
  start(stage: StageView, worker: WorkerView): RunView | undefined;
  /**
   * Queues one waiting task of the stage at the worker, whatever is free there (Hawk §3.7). Only tasks that their owner has
   * named can be queued: those of classes whose route is `central`.
   *
   * @returns the run; undefined where no such task waits, the worker is closed or lacks what is required, or could never hold the demand
   */
  place(stage: StageView, worker: WorkerView): RunView | undefined;
  /** Starts all of these or none; of a stage that is a gang, all tasks that wait. @returns the runs, in order */
  gang(
    starts: readonly { readonly stage: StageView; readonly worker: WorkerView }[],
  ): readonly RunView[] | undefined;
  /** Kills the run; its task waits again, as another attempt that is counted against nobody. Its room is free when it has ended; it may be asked for again. */
  preempt(run: RunView): void;
  /** For `why`: the job is expected to start then and there. @throws InputError where that is no time, or no text */
  expect(job: JobView, at: Millis, where?: string): void;
  /** Ask again at this time, though nothing else may have changed. The least of several counts. @throws InputError unless it is after now */
  again(at: Millis): void;
  /** Hands a problem to the solver; `solved` is heard when there is an answer. One problem at a time: a later one replaces it. */
  solve(problem: SolverProblem): SolveId;
}

export type SolveId = number;

/** Maximise cost · x subject to rows; see `three-sigma/formulate`. */
export interface SolverProblem {
  /** Version of the books for which it was made. */
  readonly version: number;
  readonly model: unknown;
}

export type SolverAnswer =
  | { readonly kind: 'solution'; readonly version: number; readonly solution: unknown }
  /** It failed or overstayed. */
  | { readonly kind: 'none'; readonly version: number; readonly error: string };

export interface PolicyExplanation {
  readonly reason: string;
  readonly sentence: string;
}

/** Shares of the cluster, as the policy deals them out. */
export interface PolicyShares {
  /** Unit of equal shares, apart from weights. */
  readonly by: 'job' | 'user';
  /** Fair share by resource index; empty for an unknown job. */
  dueTo(job: JobView): ArrayLike<number>;
}

/** The order in which a policy serves what waits. */
export interface QueueLine {
  /** Kind of the stage: its class, or `small` or `large` while its pilots run. */
  kindOf(stage: StageView): UnmatchedKind;
  comesBefore(one: StageView, other: StageView): boolean;
  /** Workers that are kept for the stage until what is free there is enough. */
  keptFor(stage: StageView): number;
  /** Long tasks that run, and how many may. */
  readonly longRunning: number;
  readonly longLimit: number;
}

/** The description of a policy, read by the table, help texts, fuzz draws and docs. */
export interface PolicyModule<Options extends PolicyOptions = PolicyOptions> {
  /** One line. */
  readonly title: string;
  /** It hands problems to a solver, at most one in each of its cycles: its option `cycleMs`. */
  readonly solves?: boolean;
  /** Owners declare whole jobs: stages, predecessors, demands, estimates, deadline, weight, user. */
  readonly declares: boolean;
  /** The tasks of a stage start together or not at all, and jobs may prefer workers by their attributes. */
  readonly gangs?: boolean;
  /** Whether a job that has not started by its deadline fails. Its owner sees to it, whose clock counts. */
  abandons?(options: Options): boolean;
  /** It places by what tasks need, and so takes workers without a fixed number of slots. */
  readonly packs?: boolean;
  /** Every option with its default, its bounds, and one line of help. */
  readonly options: { readonly [N in keyof Options]: PolicyOption<Options[N]> };
  make(options: Options, context: PolicyContext): CentralPolicy;
}

export type PolicyOptions = Readonly<Record<string, number | string | boolean>>;

export interface PolicyOption<T> {
  readonly default: T;
  readonly help: string;
  /** Numbers: bounds, both ends included. */
  readonly min?: number;
  readonly max?: number;
  /** The flag that says it, where there is one of its own: it depends on more than its value. */
  readonly flag?: string;
  /** It is a size of jobs, or several joined by commas: where a replay makes run times smaller, it is made so too. */
  readonly scales?: boolean;
  /** Texts: the values there are. */
  readonly choices?: readonly T[];
}

/** The values of options that are described so, `as const`. */
export type ValuesOf<Described> = {
  readonly [N in keyof Described]: Described[N] extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : Described[N] extends { readonly default: infer Default }
      ? Widened<Default>
      : never;
};

type Widened<T> = T extends number ? number : T extends boolean ? boolean : string;

export interface PolicyContext {
  /** A job whose estimate reaches this is long. ms; another one later, where central learns it */
  readonly cutoffMs: Millis;
  /** Run times are known when a job arrives, by its submitter or an oracle. */
  readonly sizesAreGiven: boolean;
  /** Fraction of the slots that long tasks leave to short ones, or `auto`. */
  readonly reserve: number | 'auto';
  /** Within this all workers come back to a new central. ms; none: at once */
  readonly joinMs?: Millis;
  /** The next number of a seeded stream, uniform in [0, 1). */
  random(): number;
}
