import {
  type Address,
  type Attributes,
  type BatchPart,
  type Millis,
  NO_RESOURCES,
  type ParentRun,
  type Priority,
  parseUsers,
  present,
  Random,
  type Resources,
} from '@goshawk/core';
import { ClusterBooks } from './books/books.js';
import { BookedDraft } from './books/draft.js';
import type { BookedRun, BookedStage, BookedWorker } from './books/entries.js';
import { checkBooks } from './books/invariants.js';
import type { CentralPolicy, PolicyContext, PolicyOptions, RunEnd } from './contract.js';
import { answerOf, type Program, type SolveProgram } from './program.js';
import { makePolicy } from './table.js';

export const OWNER = 900 as Address;

/** An owner's report about a job's waiting tasks. */
export interface Need {
  readonly stage?: number;
  readonly tasks?: number;
  readonly estimateMs?: Millis;
  readonly long?: boolean;
  readonly part?: BatchPart;
  readonly demand?: Resources;
  readonly jobTasks?: number;
  readonly ageMs?: Millis;
  readonly estimateFollows?: boolean;
  readonly priority?: Priority;
  readonly user?: string;
  readonly gang?: boolean;
  /** Whether its tasks may pause. Default: false. */
  readonly mayLend?: boolean;
  /** The running task that submitted the job. */
  readonly parent?: ParentRun;
  readonly requires?: Attributes;
  /** Default: none. */
  readonly deadlineAt?: Millis;
}

export interface BenchSettings {
  readonly slots?: number;
  /** Capacity per worker. */
  readonly capacity?: Resources;
  readonly options?: PolicyOptions;
  readonly context?: Partial<PolicyContext>;
  /** Answers problems immediately; without it, a policy with a solver gets no answers. */
  readonly solve?: SolveProgram | undefined;
}

/** Books, a policy that plans after each change, and workers that run tasks until the test ends them. */
export class PolicyBench {
  readonly books = new ClusterBooks();
  readonly policy: CentralPolicy;
  now: Millis = 0;
  /** The time for which the policy requested another plan. */
  againAt: Millis = Number.POSITIVE_INFINITY;
  /** Number of refused starts. */
  refused = 0;
  readonly #solve: SolveProgram | undefined;
  #nextSolve = 1;
  #started: BookedRun[] = [];

  constructor(name: string, workers: number, settings: BenchSettings = {}) {
    const { slots = 1, capacity = NO_RESOURCES, options = {}, context = {}, solve } = settings;
    this.#solve = solve;
    const random = Random.seeded('policy-bench');
    this.policy = makePolicy(name, options, {
      cutoffMs: 1_000,
      sizesAreGiven: true,
      reserve: 0,
      random: () => random.next(),
      ...context,
    });
    for (let at = 0; at < workers; at++) this.join(at, slots, capacity);
    this.settle();
  }

  join(address: number, slots = 1, capacity: Resources = NO_RESOURCES): void {
    const all = this.books.names.capacityOf(slots, capacity);
    const worker = this.books.addWorker(address as Address, all, {}, `w${address}`);
    this.books.setOpen(worker, true);
  }

  worker(address: number): BookedWorker {
    return this.books.worker(address as Address)!;
  }

  stage(job: number, index = 0): BookedStage {
    return this.books.job(OWNER, job)!.stageAt(index)!;
  }

  /** Reports a need and ends the turn. */
  need(job: number, need: Need): void {
    this.report(job, need);
    this.settle();
  }

  /** Reports a need without ending the turn. */
  report(job: number, need: Need): void {
    const { stage: index = 0, tasks = 1, estimateMs = 100, long = false, part = 'judged' } = need;
    const {
      demand = NO_RESOURCES,
      jobTasks = tasks,
      ageMs = 0,
      estimateFollows = false,
      priority,
      user,
      gang = false,
      mayLend = false,
      parent,
      requires,
      deadlineAt,
    } = need;
    const { books } = this;
    const booked = books.declare(OWNER, job, {
      arrivedAt: this.now - ageMs,
      long,
      tasks: jobTasks,
      ...present({ priority, user, parent, deadlineAt }),
    });
    const facts = { part, estimateMs, estimateFollows, gang, mayLend, ...present({ requires }) };
    const of = books.stage(booked, index, { ...facts, demand: books.names.demandOf(demand) });
    books.setWaiting(of, tasks, this.now);
    books.deleteIfOver(booked);
  }

  withdraw(job: number): void {
    this.books.withdraw(this.books.job(OWNER, job)!, this.now);
    this.settle();
  }

  /** Ends one task of the job, at the given worker or where the job started first. */
  end(job: number, how: RunEnd = 'done', at?: number): void {
    this.books.end(this.runOf(job, at), how, this.now);
    this.settle();
  }

  /** Removes a worker on which the job runs. */
  lose(job: number): void {
    this.books.removeWorker(this.runOf(job).worker, this.now);
    this.settle();
  }

  runOf(job: number, at?: number): BookedRun {
    const runs = [...this.books.job(OWNER, job)!.runs];
    return runs.find(({ worker }) => at === undefined || worker.address === at)!;
  }

  /** Ends one of all running tasks. */
  endAny(draw: number): void {
    const runs = [...this.books.workers].flatMap((worker) => worker.runs);
    this.books.end(runs[draw % runs.length]!, 'done', this.now);
    this.settle();
  }

  /** Ends the turn: the policy receives the changes and plans. */
  settle(): void {
    this.policy.update(this.books.takeChanges(), this.now);
    const draft = new BookedDraft(this.books, this.#nextSolve, this.now);
    this.policy.plan(this.books, draft, this.now);
    this.againAt = draft.againAt;
    this.refused += draft.refused;
    this.#started.push(...draft.started);
    checkBooks(this.books);
    this.policy.checkInvariants?.(this.books);
    if (draft.problem === undefined || this.#solve === undefined) return;
    const { id, problem } = draft.problem;
    this.#nextSolve = id + 1;
    const answer = answerOf(this.#solve, problem.version, problem.model as Program);
    this.books.solved({ kind: 'solved', id, answer });
    this.settle();
  }

  /** Number of running tasks of the job. */
  count(job: number): number {
    return this.books.job(OWNER, job)?.running ?? 0;
  }

  get busy(): number {
    return this.books.runCount;
  }

  /** Jobs in the order of task starts since the last call. */
  take(): number[] {
    return this.takePlaces().map(([job]) => job);
  }

  /** As `take`, with the worker of each start. */
  takePlaces(): (readonly [job: number, worker: number])[] {
    return this.#started.splice(0).map(({ stage, worker }) => [stage.job.number, worker.address] as const);
  }
}

/** Running tasks of two users with weights 1 and 3, then 3 and 1 after the operator changes them. */
export function sharesOverNewWeights(bench: PolicyBench): [first: number, second: number][] {
  bench.report(1, { tasks: 200, user: 'ann' });
  bench.report(2, { tasks: 200, user: 'ben' });
  return ['{"ann": {"weight": 1}, "ben": {"weight": 3}}', '{"ann": {"weight": 3}}'].map((users) => {
    bench.books.grant(parseUsers(users, 'users.json'));
    bench.settle();
    for (let end = 0; end < 30; end++) {
      bench.now += 1;
      bench.endAny(end);
    }
    return [bench.count(1), bench.count(2)];
  });
}
