import { type Address, invariant, type JobNumber, type Millis, ONE_SLOT, type Segment } from '@goshawk/core';
import {
  type Attributes,
  answerOf,
  BookedDraft,
  type BookedRun,
  type BookedStage,
  type CentralPolicy,
  ClusterBooks,
  isPreferred,
  type PlanningTimes,
  type Program,
  type SolveProgram,
} from '@goshawk/policies';
import { EventHeap } from './event-heap.js';

/**
 * A central policy, its books, and gangs that are rectangles: so many nodes for so long. No messages, no other parties:
 * what a policy that plans whole jobs does by itself, at a small part of what a simulated cluster costs.
 */
export interface GangJob {
  readonly submitMs: Millis;
  readonly nodes: number;
  /** On nodes that it prefers. */
  readonly runMs: Millis;
  /** From submission; Infinity: best effort. */
  readonly deadlineMs: Millis;
  readonly prefers: Attributes;
}

/** What is believed of a job as it arrives. */
export interface GangBelief {
  /** 0: nothing is known. */
  readonly estimateMs: Millis;
  readonly distribution?: readonly Segment[] | undefined;
}

export interface GangSimulationOptions {
  readonly jobs: readonly GangJob[];
  /** A node each. */
  readonly nodes: readonly Attributes[];
  readonly policy: CentralPolicy;
  readonly solve: SolveProgram;
  believe(job: JobNumber): GangBelief;
  /** @param runMs on nodes that it prefers */
  completed(job: JobNumber, runMs: Millis): void;
  /** How many times longer a gang runs of which a task is on a node that it does not prefer. */
  readonly slowdown: number;
  /** Whether a job that has not started by its deadline fails. */
  readonly abandons: boolean;
  /** Told how planning goes: nothing that happens follows from it. */
  readonly times?: PlanningTimes;
}

/** How a job fared. */
export interface GangOutcome {
  /** Infinity: it did not complete. */
  readonly completedMs: Millis;
  /** Of the run that completed; 0 without one. */
  readonly ranMs: Millis;
  readonly preemptions: number;
}

const OWNER = 0 as Address;
const FIRST_NODE = 1;

const ARRIVAL = 0;
const END = 1;
const DEADLINE = 2;
const AGAIN = 3;

export function simulateGangs(options: GangSimulationOptions): GangOutcome[] {
  return new GangSimulation(options).run();
}

class GangSimulation {
  readonly #options: GangSimulationOptions;
  readonly #books = new ClusterBooks();
  readonly #agenda = new EventHeap();
  readonly #outcomes: { completedMs: Millis; ranMs: Millis; preemptions: number }[];
  readonly #stages: (BookedStage | undefined)[] = [];
  /** By job: how many times it has started, so that the end of a run that was killed is told from that of another. */
  readonly #starts: number[];
  #sequence = 0;
  #solves = 0;
  #now: Millis = 0;

  constructor(options: GangSimulationOptions) {
    this.#options = options;
    this.#outcomes = options.jobs.map(() => ({
      completedMs: Number.POSITIVE_INFINITY,
      ranMs: 0,
      preemptions: 0,
    }));
    this.#starts = options.jobs.map(() => 0);
    for (const [index, attributes] of options.nodes.entries()) {
      const node = this.#books.addWorker((FIRST_NODE + index) as Address, ONE_SLOT, attributes);
      this.#books.setOpen(node, true);
    }
    for (const [job, { submitMs, deadlineMs }] of options.jobs.entries()) {
      this.#at(submitMs, ARRIVAL, job);
      if (options.abandons && Number.isFinite(deadlineMs)) this.#at(submitMs + deadlineMs, DEADLINE, job);
    }
  }

  run(): GangOutcome[] {
    const agenda = this.#agenda;
    while (agenda.size > 0) {
      this.#now = agenda.nextTime;
      while (agenda.nextTime === this.#now) {
        const row = agenda.pop();
        this.#happen(agenda.kinds[row]!, agenda.targets[row]!, agenda.firsts[row]!);
        agenda.release(row);
      }
      this.#turn();
    }
    return this.#outcomes;
  }

  #at(time: Millis, kind: number, job = 0, start = 0): void {
    this.#agenda.push(time, this.#sequence++, kind, job, start, 0, undefined);
  }

  #happen(kind: number, job: JobNumber, start: number): void {
    if (kind === ARRIVAL) this.#arrive(job);
    else if (kind === END && start === this.#starts[job]) this.#end(job);
    else if (kind === DEADLINE) {
      const stage = this.#stages[job];
      if (stage !== undefined && stage.running === 0) this.#leave(job, stage);
    }
  }

  #arrive(job: JobNumber): void {
    const { nodes, deadlineMs, prefers } = this.#options.jobs[job]!;
    const { estimateMs, distribution } = this.#options.believe(job);
    const declared = this.#books.declare(OWNER, job, {
      arrivedAt: this.#now,
      deadlineAt: this.#now + deadlineMs,
      prefers,
      tasks: nodes,
      isDeclared: true,
    });
    const stage = this.#books.stage(declared, 0, {
      demand: ONE_SLOT,
      tasks: nodes,
      estimateMs,
      distribution,
    });
    this.#stages[job] = stage;
    this.#books.setWaiting(stage, nodes, this.#now);
  }

  #end(job: JobNumber): void {
    const stage = this.#stages[job]!;
    const runs = [...stage.job.runs];
    const outcome = this.#outcomes[job]!;
    outcome.completedMs = this.#now;
    outcome.ranMs = this.#now - runs[0]!.startedAt;
    for (const run of runs) this.#books.end(run, 'done', this.#now);
    this.#options.completed(job, this.#options.jobs[job]!.runMs);
    this.#leave(job, stage);
  }

  #leave(job: JobNumber, stage: BookedStage): void {
    this.#stages[job] = undefined;
    this.#books.withdraw(stage.job, this.#now);
  }

  /** The policy is asked until it has nothing more to say to what it has done itself. */
  #turn(): void {
    const { policy, times } = this.#options;
    do {
      policy.heard(this.#books.takeNews(), this.#now);
      const draft = new BookedDraft(this.#books, this.#solves, this.#now);
      const plan = () => policy.plan(this.#books, draft, this.#now);
      if (times === undefined) plan();
      else times.turn(plan);
      this.#kill(draft.preempted);
      this.#start(draft.started);
      if (draft.problem !== undefined) this.#solve(draft.problem);
      if (draft.againAt > this.#now && Number.isFinite(draft.againAt)) this.#at(draft.againAt, AGAIN);
    } while (this.#books.hasNews);
  }

  #kill(runs: Iterable<BookedRun>): void {
    for (const run of runs) {
      const { stage } = run;
      if (stage.running === stage.tasks) {
        this.#starts[stage.job.number]!++;
        this.#outcomes[stage.job.number]!.preemptions++;
      }
      this.#books.end(run, 'preempted', this.#now);
      this.#books.setWaiting(stage, stage.waiting + 1, this.#now);
    }
  }

  #start(runs: readonly BookedRun[]): void {
    const gangs = new Map<BookedStage, BookedRun[]>();
    for (const run of runs) {
      const gang = gangs.get(run.stage);
      if (gang === undefined) gangs.set(run.stage, [run]);
      else gang.push(run);
    }
    for (const [stage, gang] of gangs) {
      const job = stage.job.number;
      const { nodes, prefers, runMs } = this.#options.jobs[job]!;
      invariant(gang.length === nodes, `job ${job}: ${gang.length} of ${nodes} tasks started`);
      const isSlow = gang.some(({ worker }) => !isPreferred(prefers, worker));
      const start = ++this.#starts[job]!;
      this.#at(this.#now + runMs * (isSlow ? this.#options.slowdown : 1), END, job, start);
    }
  }

  #solve({ id, problem }: NonNullable<BookedDraft['problem']>): void {
    this.#solves = id + 1;
    const { version } = problem;
    const { solve, times } = this.#options;
    times?.asked();
    const answer = answerOf(solve, version, problem.model as Program);
    times?.answered();
    this.#books.solved({ kind: 'solved', id, answer });
  }
}
