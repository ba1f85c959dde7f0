import {
  type Address,
  type Environment,
  LIMITS,
  type MessageOf,
  type Millis,
  requiresOf,
} from '@goshawk/core';
import type { BookedJob, BookedRun, BookedWorker, ClusterBooks } from '@goshawk/policies';

type Held = MessageOf<'register'>['runs'][number];

/**
 * Tasks named by their owners that wait in the queues of workers until the workers ask for them (Hawk §3.7). Owners
 * may name a task twice, and an older attempt may arrive late; only the latest attempt of a task counts.
 */
export class Placements {
  readonly #env: Pick<Environment, 'send'>;
  readonly #books: ClusterBooks;
  /** How long an assignment may be in flight. ms */
  readonly #onTheWayMs: Millis;
  /** Number of placed tasks. */
  placed = 0;

  constructor(env: Pick<Environment, 'send'>, books: ClusterBooks, onTheWayMs: Millis) {
    this.#env = env;
    this.#books = books;
    this.#onTheWayMs = onTheWayMs;
  }

  /** The owner requests the placement of tasks. */
  place(owner: Address, message: MessageOf<'place'>, now: Millis): void {
    const { job: number, stage: index, long, estimateMs } = message;
    const demand = this.#books.names.demandOf(message.demand);
    const job = this.#books.declare(owner, number, { arrivedAt: now, isArrivalGuessed: true, long });
    const stage = this.#books.stage(job, index, {
      demand,
      estimateMs,
      requires: requiresOf(message.requires),
    });
    const known: BookedRun[] = [];
    for (const named of message.tasks) {
      const run = job.runOf(named.task);
      // The owner asks again because it has no news; the worker may have none either.
      if (run?.named?.attempt === named.attempt) {
        known.push(run);
        run.askedAt = now;
      }
      if (run !== undefined && run.named!.attempt >= named.attempt) continue;
      this.#books.nameWaiting(stage, named, now);
      if (run !== undefined) this.#books.end(run, 'lost', now);
    }
    this.#books.forgetIfOver(job);
    this.#send(job, known);
  }

  started(worker: BookedWorker | undefined, run: BookedRun | undefined, now: Millis): void {
    if (run === undefined || run.worker !== worker) return;
    if (!run.isQueued) return this.#books.confirm(run);
    this.#books.begin(run, now);
    if (!run.isQueued) return;
    // All slots are in use, so the report of an end was lost.
    const over = worker.runs.find((each) => each.named !== undefined && !each.isQueued);
    if (over !== undefined) this.#books.end(over, 'done', now);
    this.#books.begin(run, now);
  }

  runOf({
    owner,
    job,
    task,
    attempt,
  }: MessageOf<'placementEnded' | 'placementStarted'>): BookedRun | undefined {
    const run = this.#books.job(owner, job)?.runOf(task);
    return run?.named?.attempt === attempt ? run : undefined;
  }

  /** Merges the worker's report with assignments that may still be in flight. */
  held(worker: BookedWorker, held: readonly Held[], now: Millis): void {
    const there = new Set<BookedRun>();
    for (const each of held) {
      const run = this.runOf({ type: 'placementStarted', ...each });
      if (run?.worker === worker) there.add(run);
    }
    for (const run of [...worker.runs])
      if (run.named !== undefined && !there.has(run) && !this.#isOnTheWay(run, now))
        this.#books.end(run, 'lost', now);
    for (const each of held) this.#found(worker, each, now);
  }

  #found(worker: BookedWorker, held: Held, now: Millis): void {
    const { owner, job: number, stage: index, task, attempt, long, estimateMs, queued, elapsedMs } = held;
    const startedAt = now - elapsedMs;
    const run = this.#books.job(owner, number)?.runOf(task);
    if (run !== undefined) {
      if (run.worker !== worker || run.named!.attempt !== attempt) return;
      if (!queued) this.#books.begin(run, startedAt);
      return this.#books.confirm(run);
    }
    const job = this.#books.declareFound(owner, number, startedAt, long);
    const stage = this.#books.stage(job, index, {
      demand: this.#books.names.demandOf(held.demand),
      estimateMs,
    });
    const waiting = stage.waitingAttempt(task);
    if (waiting !== undefined && waiting > attempt) return this.#books.forgetIfOver(job);
    this.#books.unnameWaiting(stage, task);
    const isRunning = !queued && this.#books.find(stage, worker, startedAt, { task, attempt }) !== undefined;
    if (!isRunning) this.#books.findQueued(stage, worker, now, { task, attempt });
    // The owner waits for a placement, and the worker has it already.
    const at = [{ task, attempt, worker: worker.address }];
    if (waiting !== undefined) this.#env.send(owner, { type: 'placed', job: number, at });
  }

  /** Whether the assignment was sent so recently that the worker may not have it yet. */
  #isOnTheWay({ isQueued, isConfirmed, askedAt }: BookedRun, now: Millis): boolean {
    if (!isQueued || isConfirmed) return false;
    return this.#onTheWayMs === 0 || now - askedAt < this.#onTheWayMs;
  }

  /** Sends the policy's placements. */
  tell(runs: readonly BookedRun[]): void {
    this.placed += runs.length;
    const byJob = new Map<BookedJob, BookedRun[]>();
    for (const run of runs) {
      const { job } = run.stage;
      const ofJob = byJob.get(job);
      if (ofJob === undefined) byJob.set(job, [run]);
      else ofJob.push(run);
    }
    for (const [job, ofJob] of byJob) this.#send(job, ofJob);
  }

  #send(job: BookedJob, runs: readonly BookedRun[]): void {
    const { number, long } = job;
    const owner = job.owner.address;
    const at: MessageOf<'placed'>['at'][number][] = [];
    for (const run of runs) {
      const { index, estimateMs, demand: vector } = run.stage;
      const { task, attempt } = run.named!;
      const worker = run.worker.address;
      const demand = this.#books.names.resourcesOf(vector);
      this.#env.send(worker, {
        type: 'assign',
        owner,
        job: number,
        stage: index,
        task,
        attempt,
        long,
        estimateMs,
        demand,
      });
      at.push({ task, attempt, worker });
    }
    for (let from = 0; from < at.length; from += LIMITS.tasksPerMessageMax) {
      const part = at.slice(from, from + LIMITS.tasksPerMessageMax);
      this.#env.send(owner, { type: 'placed', job: number, at: part });
    }
  }
}
