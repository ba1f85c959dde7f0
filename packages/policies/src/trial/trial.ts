import {
  type Address,
  IndexedHeap,
  invariant,
  type Millis,
  present,
  sumOf,
  type Vector,
} from '@goshawk/core';
import { ClusterBooks } from '../books/books.js';
import { BookedDraft } from '../books/draft.js';
import type { BookedJob, BookedRun, BookedStage } from '../books/entries.js';
import type { CentralPolicy, RunView } from '../contract.js';

/**
 * A policy on trial: jobs of stages over one set of books, without messages and delays. For cases, and for comparisons of
 * policies as their papers make them; the simulator of the whole system is another package.
 */

export interface TrialStage {
  readonly tasks: number;
  /** Of each task: slots first, then as the workers have it. */
  readonly demand: Vector;
  readonly durationMs: Millis;
  /** What the policy believes; the duration itself unless given. */
  readonly estimateMs?: Millis;
  readonly parents: readonly number[];
}

export interface TrialJob {
  readonly arriveMs: Millis;
  readonly weight?: number;
  readonly user?: string;
  readonly stages: readonly TrialStage[];
}

export interface Trial {
  /** In order of arrival. */
  readonly jobs: readonly TrialJob[];
  /** Names beside `slot`, as in every vector. */
  readonly resources: readonly string[];
  /** Capacity of each worker. */
  readonly workers: readonly Vector[];
  readonly policy: CentralPolicy;
  /** Between two events, nothing changes. */
  readonly observe?: (from: Millis, until: Millis, books: ClusterBooks) => void;
  /** A task has started. */
  readonly started?: (run: RunView, now: Millis) => void;
}

export interface TrialResult {
  /** When each job was complete; NaN where it never was. */
  readonly completedMs: Float64Array;
  /** Turns of the policy. */
  readonly turns: number;
}

const OWNER = 1 as Address;
const FIRST_WORKER = 2;

export function runTrial(trial: Trial): TrialResult {
  return new TrialRun(trial).run();
}

class TrialRun {
  readonly #trial: Trial;
  readonly #books = new ClusterBooks();
  /** Of runs, by number. */
  readonly #ends = new IndexedHeap();
  readonly #runs: (BookedRun | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  /** Of each job that is here: parents of each stage that have not ended. */
  readonly #parentsLeft = new Map<BookedJob, Int32Array>();
  readonly #completedMs: Float64Array;
  #arrived = 0;
  #againAt = Number.POSITIVE_INFINITY;
  #now = 0;
  #turns = 0;

  constructor(trial: Trial) {
    this.#trial = trial;
    this.#completedMs = new Float64Array(trial.jobs.length).fill(Number.NaN);
    for (const name of trial.resources) this.#books.names.indexOf(name);
    trial.workers.forEach((capacity, i) => {
      this.#books.setOpen(this.#books.addWorker((FIRST_WORKER + i) as Address, capacity), true);
    });
  }

  run(): TrialResult {
    for (;;) {
      const next = Math.min(this.#nextArrival(), this.#ends.topKey(), this.#againAt);
      if (next === Number.POSITIVE_INFINITY) break;
      if (next > this.#now) this.#trial.observe?.(this.#now, next, this.#books);
      this.#now = next;
      while (this.#nextArrival() <= next) this.#arrive(this.#arrived++);
      while (this.#ends.topKey() <= next) this.#end(this.#ends.top());
      this.#turn();
    }
    return { completedMs: this.#completedMs, turns: this.#turns };
  }

  #nextArrival(): Millis {
    return this.#trial.jobs[this.#arrived]?.arriveMs ?? Number.POSITIVE_INFINITY;
  }

  #turn(): void {
    const { policy, started } = this.#trial;
    const isDue = this.#againAt <= this.#now;
    if (!this.#books.hasNews && !isDue) return;
    if (isDue) this.#againAt = Number.POSITIVE_INFINITY;
    policy.heard(this.#books.takeNews(), this.#now);
    const draft = new BookedDraft(this.#books, 1, this.#now);
    policy.plan(this.#books, draft, this.#now);
    this.#turns++;
    invariant(draft.refused === 0, () => `${draft.refused} starts of the plan were refused`);
    this.#againAt = Math.min(this.#againAt, draft.againAt);
    invariant(this.#againAt > this.#now, () => `the policy asks to be asked again at ${this.#againAt}, now`);
    for (const run of draft.started) {
      const number = this.#freeNumbers.pop() ?? this.#runs.length;
      this.#runs[number] = run;
      this.#ends.set(number, this.#now + this.#stageOf(run.stage).durationMs);
      started?.(run, this.#now);
    }
  }

  #stageOf({ job, index }: BookedStage): TrialStage {
    return this.#trial.jobs[job.number]!.stages[index]!;
  }

  #arrive(number: number): void {
    const { weight, user, stages } = this.#trial.jobs[number]!;
    const job = this.#books.declare(OWNER, number, {
      arrivedAt: this.#now,
      ...present({ weight, user }),
      tasks: sumOf(stages, ({ tasks }) => tasks),
      isDeclared: true,
    });
    this.#parentsLeft.set(
      job,
      Int32Array.from(stages, ({ parents }) => parents.length),
    );
    const booked = stages.map(({ demand, tasks, parents, durationMs, estimateMs }, index) =>
      this.#books.stage(job, index, {
        demand,
        tasks,
        after: parents,
        estimateMs: estimateMs ?? durationMs,
      }),
    );
    for (const stage of booked)
      if (stage.after.length === 0) this.#books.setWaiting(stage, stage.tasks, this.#now);
  }

  #end(number: number): void {
    const { stage } = this.#runs[number]!;
    const { job } = stage;
    this.#books.end(this.#runs[number]!, 'done', this.#now);
    this.#ends.delete(number);
    this.#runs[number] = undefined;
    this.#freeNumbers.push(number);
    if (stage.ended < stage.tasks) return;
    const left = this.#parentsLeft.get(job)!;
    for (const child of job.stages) {
      if (!child.after.includes(stage.index)) continue;
      left[child.index]!--;
      if (left[child.index] === 0) this.#books.setWaiting(child, child.tasks, this.#now);
    }
    if (job.stages.some(({ ended, tasks }) => ended < tasks)) return;
    this.#completedMs[job.number] = this.#now;
    this.#parentsLeft.delete(job);
    this.#books.withdraw(job, this.#now);
  }
}
