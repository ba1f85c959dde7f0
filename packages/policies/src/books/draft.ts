import { InputError, LIMITS, type Millis } from '@goshawk/core';
import type {
  Draft,
  JobView,
  Loan,
  RunView,
  SolveId,
  SolverProblem,
  StageView,
  WorkerView,
} from '../contract.js';
import type { ClusterBooks } from './books.js';
import type { BookedJob, BookedRun, BookedStage, BookedWorker } from './entries.js';

/** The plan of one turn. Starts change the books immediately; central carries out the rest. */
export class BookedDraft implements Draft {
  readonly #books: ClusterBooks;
  readonly #now: Millis;
  readonly started: BookedRun[] = [];
  /** Created on demand, because most plans preempt nothing. */
  #preempted: Set<BookedRun> | undefined;
  problem: { readonly id: SolveId; readonly problem: SolverProblem } | undefined;
  againAt: Millis = Number.POSITIVE_INFINITY;
  /** Number of starts that were refused. */
  refused = 0;
  #nextSolve: SolveId;

  constructor(books: ClusterBooks, nextSolve: SolveId, now: Millis) {
    this.#books = books;
    this.#nextSolve = nextSolve;
    this.#now = now;
  }

  /** Runs to preempt, except those that an earlier draft has preempted already. */
  get preempted(): Iterable<BookedRun> {
    return this.#preempted ?? NO_RUNS;
  }

  start(stage: StageView, worker: WorkerView, loan?: Loan): RunView | undefined {
    if (stage.gang && stage.waiting > 1) return this.#record(undefined);
    return this.#record(this.#books.start(stage as BookedStage, worker as BookedWorker, this.#now, loan));
  }

  place(stage: StageView, worker: WorkerView): RunView | undefined {
    return this.#record(this.#books.place(stage as BookedStage, worker as BookedWorker, this.#now));
  }

  gang(
    starts: readonly { readonly stage: StageView; readonly worker: WorkerView }[],
  ): readonly RunView[] | undefined {
    if (starts.some(({ stage }) => stage.gang && countOf(stage, starts) !== stage.waiting)) {
      this.refused++;
      return undefined;
    }
    const runs: BookedRun[] = [];
    const waitedSince = starts.map(({ stage }) => stage.waitsSince);
    for (const { stage, worker } of starts) {
      const run = this.#books.start(stage as BookedStage, worker as BookedWorker, this.#now);
      if (run === undefined) {
        this.refused++;
        for (const each of runs) this.#books.undo(each);
        starts.forEach((start, at) => {
          (start.stage as BookedStage).waitsSince = waitedSince[at]!;
        });
        return undefined;
      }
      runs.push(run);
    }
    this.started.push(...runs);
    return runs;
  }

  preempt(run: RunView): void {
    const booked = run as BookedRun;
    if (!booked.worker.runs.includes(booked)) return;
    booked.preemption ??= 'requested';
    this.#preempted ??= new Set();
    this.#preempted.add(booked);
  }

  expect(job: JobView, at: Millis, where?: string): void {
    if (!(Math.abs(at) <= LIMITS.wireMsMax)) throw invalid(`expect: ${at} is not a time`);
    if (where !== undefined && typeof where !== 'string') throw invalid(`expect: ${where} is not text`);
    (job as BookedJob).expected = { at, where: where?.slice(0, LIMITS.lineLengthMax) };
  }

  again(at: Millis): void {
    if (!(at > this.#now)) throw invalid(`again: ${at} is not after now, ${this.#now}`);
    this.againAt = Math.min(this.againAt, at);
  }

  solve(problem: SolverProblem): SolveId {
    const id = this.#nextSolve++;
    this.problem = { id, problem };
    return id;
  }

  #record(run: BookedRun | undefined): BookedRun | undefined {
    if (run === undefined) this.refused++;
    else this.started.push(run);
    return run;
  }
}

function countOf(stage: StageView, starts: Parameters<Draft['gang']>[0]): number {
  return starts.filter((start) => start.stage === stage).length;
}

/** Invalid input, which would block central forever or cannot be sent. */
function invalid(message: string): InputError {
  return new InputError('bad-policy', message);
}

const NO_RUNS: readonly BookedRun[] = [];
