import type { Address, BatchPart, MessageOf, Millis, Resources } from '@goshawk/core';
import type { BatchView, JobView } from '../policies/contract.js';

/** A job of which a task waits or runs. */
export class DispatchedJob implements JobView {
  readonly owner: Address;
  readonly job: number;
  readonly arrivedAt: Millis;
  tasks: number;
  running = 0;
  /** Of the runs that ended. */
  #attainedMs = 0;
  /** Σ of the starts of those that run: their service by now takes no walk. */
  #startSum = 0;

  constructor(owner: Address, job: number, tasks: number, arrivedAt: Millis) {
    this.owner = owner;
    this.job = job;
    this.tasks = tasks;
    this.arrivedAt = arrivedAt;
  }

  attainedMs(now: Millis): Millis {
    return this.#attainedMs + this.running * now - this.#startSum;
  }

  started(at: Millis): void {
    this.running++;
    this.#startSum += at;
  }

  /** @param attainedMs 0 for a start that came to nothing */
  ended(startedAt: Millis, attainedMs: Millis): void {
    this.running--;
    this.#startSum = this.running === 0 ? 0 : this.#startSum - startedAt;
    this.#attainedMs += attainedMs;
  }
}

/** What its owner last said of a batch, less the tasks that workers were found for since. */
export class WaitingBatch implements BatchView {
  readonly id: number;
  readonly job: DispatchedJob;
  readonly stage: number;
  part: BatchPart = 'judged';
  long = false;
  estimateMs: Millis = 0;
  demand: Resources;
  waiting = 0;
  waitsSince: Millis;
  /** Workers that its owner was told of. */
  matches: number;

  constructor(id: number, job: DispatchedJob, { stage, demand, matches }: MessageOf<'need'>, now: Millis) {
    this.id = id;
    this.job = job;
    this.stage = stage;
    this.demand = demand;
    this.waitsSince = now;
    this.matches = matches;
  }
}

/** The jobs that central is told of, and their batches that wait for workers. */
export class WaitingRoom {
  readonly #jobs = new Map<Address, Map<number, DispatchedJob>>();
  readonly #batches = new Map<DispatchedJob, Map<number, WaitingBatch>>();
  readonly #freeIds: number[] = [];
  /** Given out again only when the policy has heard that their batches are gone. */
  #goneIds: number[] = [];
  #nextId = 0;
  #changed = new Set<WaitingBatch>();
  #tasks = 0;

  /** Tasks without a worker. */
  get tasks(): number {
    return this.#tasks;
  }

  job(owner: Address, job: number): DispatchedJob | undefined {
    return this.#jobs.get(owner)?.get(job);
  }

  batch(owner: Address, job: number, stage: number): WaitingBatch | undefined {
    const known = this.job(owner, job);
    return known === undefined ? undefined : this.#batches.get(known)?.get(stage);
  }

  *batches(): Iterable<WaitingBatch> {
    for (const batches of this.#batches.values()) yield* batches.values();
  }

  batchesOf(owner: Address, job?: number): WaitingBatch[] {
    const jobs = [...(this.#jobs.get(owner)?.values() ?? [])];
    const wanted = job === undefined ? jobs : jobs.filter((each) => each.job === job);
    return wanted.flatMap((each) => [...(this.#batches.get(each)?.values() ?? [])]);
  }

  add(owner: Address, message: MessageOf<'need'>, now: Millis): WaitingBatch {
    const job = this.#jobOf(owner, message, now);
    const batch = new WaitingBatch(this.#freeIds.pop() ?? this.#nextId++, job, message, now);
    let batches = this.#batches.get(job);
    if (batches === undefined) {
      batches = new Map();
      this.#batches.set(job, batches);
    }
    batches.set(batch.stage, batch);
    return batch;
  }

  /** What the owner says now. */
  update(
    batch: WaitingBatch,
    { part, long, estimateMs, jobTasks }: MessageOf<'need'>,
    waiting: number,
  ): void {
    batch.part = part;
    batch.long = long;
    batch.estimateMs = estimateMs;
    batch.job.tasks = jobTasks;
    this.setWaiting(batch, waiting);
  }

  setWaiting(batch: WaitingBatch, waiting: number): void {
    this.#tasks += waiting - batch.waiting;
    batch.waiting = waiting;
    this.#changed.add(batch);
  }

  /** The policy is to look at the batch again. */
  touch(batch: WaitingBatch): void {
    this.#changed.add(batch);
  }

  remove(batch: WaitingBatch): void {
    const { job } = batch;
    const batches = this.#batches.get(job);
    if (!batches?.delete(batch.stage)) return;
    if (batches.size === 0) this.#batches.delete(job);
    this.setWaiting(batch, 0);
    this.#goneIds.push(batch.id);
    this.forgetIfDone(job);
  }

  /** Nothing of the job waits or runs. */
  forgetIfDone(job: DispatchedJob): void {
    if (this.#batches.has(job) || job.running > 0) return;
    const ofOwner = this.#jobs.get(job.owner);
    if (ofOwner?.get(job.job) !== job) return;
    ofOwner.delete(job.job);
    if (ofOwner.size === 0) this.#jobs.delete(job.owner);
  }

  /** What changed since this was asked last. */
  takeNews(): readonly WaitingBatch[] {
    if (this.#changed.size === 0) return NO_NEWS;
    const news = [...this.#changed];
    this.#changed = new Set();
    this.#freeIds.push(...this.#goneIds);
    this.#goneIds = [];
    return news;
  }

  #jobOf(owner: Address, { job, jobTasks, ageMs }: MessageOf<'need'>, now: Millis): DispatchedJob {
    let ofOwner = this.#jobs.get(owner);
    if (ofOwner === undefined) {
      ofOwner = new Map();
      this.#jobs.set(owner, ofOwner);
    }
    let known = ofOwner.get(job);
    if (known === undefined) {
      known = new DispatchedJob(owner, job, jobTasks, now - ageMs);
      ofOwner.set(job, known);
    }
    return known;
  }
}

const NO_NEWS: readonly WaitingBatch[] = [];
