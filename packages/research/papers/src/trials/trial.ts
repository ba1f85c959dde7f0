import {
  type Address,
  IndexedHeap,
  InputError,
  invariant,
  LIMITS,
  type Millis,
  present,
  Random,
  type Segment,
  sumOf,
  type Vector,
} from '@goshawk/core';
import {
  type Attributes,
  answerOf,
  BookedDraft,
  type BookedJob,
  type BookedRun,
  type BookedStage,
  type CentralPolicy,
  ClusterBooks,
  isPreferredAt,
  makePolicy,
  type PlanningTimes,
  type PolicyOptions,
  type Program,
  type RunView,
  type SolveProgram,
} from '@goshawk/policies';
import { addPapers } from '../index.js';

/**
 * Tests a policy alone: jobs with stages on one set of books, without messages and delays. Used for cases and
 * for comparisons as in papers. The simulator of the whole system is a separate package.
 */

interface TrialStage {
  readonly tasks: number;
  /** Demand of each task: slots first, then in the order of the workers' resources. */
  readonly demand: Vector;
  readonly durationMs: Millis;
  readonly parents: readonly number[];
  /** Whether its tasks start together or not at all. */
  readonly gang?: boolean;
}

export interface TrialJob {
  readonly arriveMs: Millis;
  readonly weight?: number;
  readonly user?: string;
  readonly userWeight?: number;
  /** Whether its tasks may be killed for jobs that would miss their deadlines. */
  readonly preemptible?: boolean;
  /** Deadline from arrival; absent: best effort. */
  readonly deadlineMs?: Millis;
  readonly prefers?: Attributes;
  /**
   * Factor on the run times of tasks that start together, if one of them is on a worker that is not
   * preferred.
   */
  readonly slowdown?: number;
  readonly stages: readonly TrialStage[];
}

/** Estimate of a stage when its job arrives. */
export interface TrialEstimate {
  /** 0: unknown. */
  readonly estimateMs: Millis;
  readonly distribution?: readonly Segment[] | undefined;
}

export interface Trial {
  /** Jobs in order of arrival. */
  readonly jobs: readonly TrialJob[];
  /** Names of the resources besides `slot`, in the order of every vector. */
  readonly resources?: readonly string[];
  readonly workers: readonly { readonly capacity: Vector; readonly attributes?: Attributes }[];
  readonly policy: CentralPolicy;
  /** Solves the programs of policies that need a solver. */
  readonly solve?: SolveProgram;
  /** Whether a job that has not started by its deadline is abandoned. */
  readonly abandons?: boolean;
  /** Estimates a stage; by default, with its true duration. */
  estimate?(job: number, stage: number): TrialEstimate;
  /** Called when a task has started. */
  started?(run: RunView, now: Millis): void;
  completed?(job: number): void;
  /** Records planning times, without any effect on the trial. */
  readonly times?: PlanningTimes;
}

export interface TrialResult {
  /** Completion time of each job; NaN if it never completed. */
  readonly completedMs: Float64Array;
  /** Number of stages whose running tasks were all killed. */
  readonly preemptions: number;
}

const OWNER = 1 as Address;
const FIRST_WORKER = 2;

/** @throws InputError for an unknown policy or option */
export function trialPolicy(name: string, options: PolicyOptions = {}, seed = 1): CentralPolicy {
  const random = Random.seeded(seed);
  addPapers();
  return makePolicy(name, options, {
    cutoffMs: 0,
    sizesAreGiven: true,
    reserve: 'auto',
    random: () => random.next(),
  });
}

export function runTrial(trial: Trial): TrialResult {
  return new TrialRun(trial).run();
}

function checkJobs(jobs: readonly TrialJob[]): void {
  const check = (isRight: boolean, where: string, field: string, value: unknown): void => {
    if (!isRight)
      throw new InputError('bad-trial', `${where}: ${field} is ${String(value)}`, 'give a number');
  };
  for (const [number, { arriveMs, stages }] of jobs.entries()) {
    check(arriveMs >= 0 && Number.isFinite(arriveMs), `job ${number}`, 'arriveMs', arriveMs);
    for (const [index, { tasks, durationMs, demand, parents }] of stages.entries()) {
      const where = `job ${number}, stage ${index}`;
      check(
        Number.isSafeInteger(tasks) && tasks >= 1 && tasks <= LIMITS.tasksPerJobMax,
        where,
        'tasks',
        tasks,
      );
      check(durationMs >= 0 && Number.isFinite(durationMs), where, 'durationMs', durationMs);
      check(
        demand.every((each) => each >= 0 && Number.isFinite(each)),
        where,
        'demand',
        demand,
      );
      check(
        parents.every((each) => stages[each] !== undefined),
        where,
        'parents',
        parents,
      );
    }
  }
}

class TrialRun {
  readonly #trial: Trial;
  readonly #books = new ClusterBooks();
  /** Ends of runs by id. */
  readonly #ends = new IndexedHeap();
  readonly #runs: BookedRun[] = [];
  /** Number of unfinished parents of each stage, by job. */
  readonly #parentsLeft = new Map<BookedJob, Int32Array>();
  /** Deadlines by job. */
  readonly #deadlines = new IndexedHeap();
  readonly #completedMs: Float64Array;
  #arrived = 0;
  #againAt = Number.POSITIVE_INFINITY;
  #now = 0;
  #solves = 1;
  #preemptions = 0;

  /** @throws InputError for a job with invalid numbers, which would stop the clock of the trial */
  constructor(trial: Trial) {
    checkJobs(trial.jobs);
    this.#trial = trial;
    this.#completedMs = new Float64Array(trial.jobs.length).fill(Number.NaN);
    for (const name of trial.resources ?? []) this.#books.names.indexOf(name);
    for (const [index, { capacity, attributes }] of trial.workers.entries()) {
      const worker = this.#books.addWorker((FIRST_WORKER + index) as Address, capacity, attributes);
      this.#books.setOpen(worker, true);
    }
  }

  run(): TrialResult {
    for (;;) {
      const next = Math.min(
        this.#nextArrival(),
        this.#ends.topKey(),
        this.#deadlines.topKey(),
        this.#againAt,
      );
      if (next === Number.POSITIVE_INFINITY) break;
      this.#now = next;
      if (this.#againAt <= next) this.#againAt = Number.POSITIVE_INFINITY;
      while (this.#nextArrival() <= next) this.#arrive(this.#arrived++);
      while (this.#deadlines.topKey() <= next) this.#pass(this.#deadlines.top());
      while (this.#ends.topKey() <= next) this.#end(this.#runs[this.#ends.top()]!);
      do this.#turn();
      while (this.#books.hasChanges);
    }
    return { completedMs: this.#completedMs, preemptions: this.#preemptions };
  }

  #nextArrival(): Millis {
    return this.#trial.jobs[this.#arrived]?.arriveMs ?? Number.POSITIVE_INFINITY;
  }

  #turn(): void {
    const { policy, times } = this.#trial;
    policy.update(this.#books.takeChanges(), this.#now);
    const draft = new BookedDraft(this.#books, this.#solves, this.#now);
    const plan = () => policy.plan(this.#books, draft, this.#now);
    if (times === undefined) plan();
    else times.measure(plan);
    invariant(draft.refused === 0, () => `${draft.refused} starts of the plan were refused`);
    for (const run of draft.preempted) this.#kill(run);
    this.#start(draft.started);
    if (draft.problem !== undefined) this.#solve(draft.problem);
    this.#againAt = Math.min(this.#againAt, draft.againAt);
  }

  #start(runs: readonly BookedRun[]): void {
    const slow = new Set<BookedStage>();
    for (const { stage, worker } of runs) if (!isPreferredAt(stage.job, worker)) slow.add(stage);
    for (const run of runs) {
      const { job, index } = run.stage;
      const { stages, slowdown = 1 } = this.#trial.jobs[job.number]!;
      this.#runs[run.id] = run;
      this.#ends.set(run.id, this.#now + stages[index]!.durationMs * (slow.has(run.stage) ? slowdown : 1));
      this.#trial.started?.(run, this.#now);
    }
  }

  #kill(run: BookedRun): void {
    const { stage } = run;
    if (stage.running === stage.tasks) this.#preemptions++;
    this.#ends.delete(run.id);
    this.#books.end(run, 'preempted', this.#now);
    this.#books.setWaiting(stage, stage.waiting + 1, this.#now);
  }

  #solve({ id, problem }: NonNullable<BookedDraft['problem']>): void {
    this.#solves = id + 1;
    const { solve, times } = this.#trial;
    invariant(solve !== undefined, 'the policy requests a solver, but the trial has none');
    times?.problemSent();
    const answer = answerOf(solve, problem.version, problem.model as Program);
    times?.answerArrived();
    this.#books.solved({ kind: 'solved', id, answer });
  }

  #arrive(number: number): void {
    const { weight, user, userWeight, preemptible, deadlineMs, prefers, stages } = this.#trial.jobs[number]!;
    const deadlineAt = deadlineMs === undefined ? undefined : this.#now + deadlineMs;
    const estimates = stages.map(
      ({ durationMs }, index) => this.#trial.estimate?.(number, index) ?? { estimateMs: durationMs },
    );
    const job = this.#books.declare(OWNER, number, {
      arrivedAt: this.#now,
      ...present({ weight, user, userWeight, preemptible, deadlineAt, prefers }),
      tasks: sumOf(stages, ({ tasks }) => tasks),
      isDeclared: true,
    });
    if (deadlineAt !== undefined && this.#trial.abandons) this.#deadlines.set(number, deadlineAt);
    this.#parentsLeft.set(
      job,
      Int32Array.from(stages, ({ parents }) => parents.length),
    );
    const booked = stages.map(({ demand, tasks, parents, gang = false }, index) =>
      this.#books.stage(job, index, { demand, tasks, gang, after: parents, ...estimates[index]! }),
    );
    for (const stage of booked)
      if (stage.after.length === 0) this.#books.setWaiting(stage, stage.tasks, this.#now);
  }

  /** Handles the deadline of a job: withdraws the job unless some of its tasks run. */
  #pass(number: number): void {
    const job = this.#books.job(OWNER, number)!;
    this.#deadlines.delete(number);
    if (job.running === 0) this.#leave(job);
  }

  #end(run: BookedRun): void {
    const { stage } = run;
    const { job } = stage;
    this.#ends.delete(run.id);
    this.#books.end(run, 'done', this.#now);
    if (stage.ended < stage.tasks) return;
    const left = this.#parentsLeft.get(job)!;
    for (const child of job.stages) {
      if (!child.after.includes(stage.index)) continue;
      left[child.index]!--;
      if (left[child.index] === 0) this.#books.setWaiting(child, child.tasks, this.#now);
    }
    if (job.stages.some(({ ended, tasks }) => ended < tasks)) return;
    this.#completedMs[job.number] = this.#now;
    this.#trial.completed?.(job.number);
    this.#leave(job);
  }

  #leave(job: BookedJob): void {
    this.#deadlines.delete(job.number);
    this.#parentsLeft.delete(job);
    this.#books.withdraw(job, this.#now);
  }
}
