import {
  type Address,
  AddressNumbers,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  NOBODY,
  type Resources,
  type TaskAttempt,
  type TaskIndex,
} from '@goshawk/core';
import { AssignedBy, type Assignment } from '../job/assignment.js';
import type { Batch, Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import { addWaitingSlot, answerNone, assignNext, bindTask, takeTask } from './assigner.js';
import { hasTaskFor } from './avoidance.js';
import { resendTask } from './delivery.js';
import type { Offer } from './offers.js';
import { batchAssigned, findWorkers, isUpToCentral, isWithoutCentral } from './routing.js';
import type { Sampler } from './sampler.js';
import type { SearchState } from './search.js';

/** Maximum number of tasks in a chunk. */
const CHUNK_TASKS_MAX = 16;
/** Maximum estimated run time of a chunk, as a fraction of that of a series. */
const CHUNK_SHARE = 1 / 50;

/** Messages that ask for tasks of a job. */
/** The search, and the estimator, which learns that pilots run. */
type BinderState = SearchState & { readonly sampler: Sampler };

type TaskRequest = MessageOf<'ask'> | MessageOf<'matched'> | MessageOf<'checkMatch'>;

/**
 * Binds each task to one worker. The worker may serve a probe (late binding, Hawk §3.5), queue a placed task,
 * be matched with the batch by central, or seek any task. A seeking worker gets the first task in order of
 * all batches.
 */
export class Binder {
  readonly #s: BinderState;
  readonly #requestNumbers = new LastNumbers();
  #central: Address = NOBODY;
  /** The latest match of each worker, as numbered by `#central`. */
  #matchNumbers = new LastNumbers();

  constructor(s: BinderState) {
    this.#s = s;
  }

  /**
   * Resets the numbers of workers that left. A worker that returns numbers its requests and matches from the
   * start.
   */
  removeWorkers(workers: ReadonlySet<Address>): void {
    this.#requestNumbers.reset(workers);
    while (this.#s.waitingSlots.take(({ worker }) => workers.has(worker)) !== undefined);
    this.#matchNumbers.reset(workers);
  }

  /** Answers a request for tasks, once the job is durable. */
  receiveRequest(from: Address, received: TaskRequest, now: Millis): void {
    // Duplicate matches are dropped on arrival, because a match that waits for the disk may be overtaken by later ones.
    const message = received.type === 'matched' ? this.#dropKnownMatches(from, received, now) : received;
    const job = this.#s.notDurableJobs.isEmpty ? undefined : this.#s.jobs.byNumber(message.job);
    if (
      job !== undefined &&
      this.#s.notDurableJobs.defers(job, (then) => this.#serveRequest(from, message, then))
    )
      return;
    this.#serveRequest(from, message, now);
  }

  #serveRequest(from: Address, message: TaskRequest, now: Millis): void {
    if (message.type === 'ask') return this.#serveProbe(from, message, now);
    if (this.#s.cluster.isFormerCentral(from)) return;
    if (message.type === 'matched') this.#useMatches(from, message, now);
    else this.#checkMatch(from, message, now);
  }

  #dropKnownMatches(central: Address, message: MessageOf<'matched'>, now: Millis): MessageOf<'matched'> {
    if (this.#s.cluster.isFormerCentral(central)) return message;
    this.#s.cluster.matched(message, now);
    if (central !== this.#central) {
      this.#central = central;
      this.#matchNumbers = new LastNumbers();
    }
    const workers = message.workers.filter(({ worker, match }) => this.#matchNumbers.isNew(worker, match));
    return workers.length === message.workers.length ? message : { ...message, workers };
  }

  /** Answers a worker that serves a probe or a placed task and asks which task to run. */
  #serveProbe(from: Address, message: MessageOf<'ask'>, now: Millis): void {
    const job = this.#s.jobs.byNumber(message.job);
    const batch = job?.batches[message.stage];
    if (job === undefined || batch === undefined || job.hasEnded)
      return this.#refuseRequest(from, message.ask);
    if (!this.#s.cluster.members.isAdmitted(from)) {
      // A worker repeats its question about a placed task, of which central's report may still arrive.
      if (message.placed === undefined) this.#refuseRequest(from, message.ask);
      return;
    }
    const isNew = this.#requestNumbers.isNew(from, message.ask);
    const assignment: Assignment = { by: AssignedBy.ask, number: message.ask };
    if (!isNew && resendTask(this.#s, job, from, assignment)) return;
    const task =
      message.placed === undefined
        ? this.#taskForProbe(job, batch, from, isNew, now)
        : this.#placedTask(job, from, message.placed, now);
    if (task < 0) {
      this.#refuseRequest(from, message.ask);
    } else {
      this.#s.prober.hints.delete(from);
      this.#bind(job, task, from, assignment, now);
    }
    if (message.placed === undefined) this.#updateSearch(job, batch, now, task < 0);
  }

  /** Assigns the first eligible short task to an idle worker. */
  seek(from: Address, { ask, spare }: MessageOf<'seek'>, now: Millis): void {
    const assignment: Assignment = { by: AssignedBy.ask, number: ask };
    if (!this.#needsAnswer(from, assignment)) return;
    const isSuitable = this.#isSuitableFor(from, now);
    // Only central knows how many tasks of such a user run, even if the worker misses it.
    const hasCentral = !isWithoutCentral(this.#s, now);
    const offer = this.#s.offers.first(
      spare,
      now,
      (each) =>
        isSuitable(each) &&
        !(hasCentral && this.#s.quotas.limitsRunningTasks(each.job.spec.user)) &&
        !isUpToCentral(this.#s, each.job),
    );
    if (offer === undefined) this.#s.prober.hints.add(from);
    else this.#s.prober.hints.delete(from);
    this.#serveOffer(from, assignment, offer, now);
  }

  /**
   * Answers a slot that has run a tiny task and requests another. It gets the first task in order if that is tiny.
   * Otherwise the worker asks central or other schedulers, so that larger tasks are still bound late.
   */
  continueSeries(from: Address, { ask, job: ended, task }: MessageOf<'ended'>, now: Millis): void {
    if (ask === 0) return;
    const assignment: Assignment = { by: AssignedBy.ask, number: ask };
    if (!this.#needsAnswer(from, assignment)) return;
    const job = this.#s.jobs.byNumber(ended);
    const spare = freedResources(job?.dag.stageOf(task).spec.demand ?? NO_RESOURCES);
    const offer = this.#firstTinyOffer(job?.spec.user, spare, from, now);
    // A slot may wait here only if no task waits. Central counts it as used by the user of its last task, so with
    // quotas a task of another user must not get it.
    const mayHold = this.#s.waitingSlots.mayWait && !this.#s.quotas.hasLimits;
    if (offer === undefined && mayHold && this.#s.offers.size === 0)
      return addWaitingSlot(this.#s, { worker: from, ask, spare }, now);
    this.#serveOffer(from, assignment, offer, now);
    if (offer !== undefined) this.#addToChunk(offer.job, from, assignment, spare, now);
  }

  /**
   * The first task in order, if it is tiny. If users share the cluster or have quotas, central chooses among users.
   */
  #firstTinyOffer(
    user: string | undefined,
    spare: Resources,
    worker: Address,
    now: Millis,
  ): Offer | undefined {
    const { offers } = this.#s;
    const { shareBy } = this.#s.cluster.joinedPolicy.preset.decidedBy.options;
    const isCharged = shareBy !== 'none' || this.#s.quotas.hasLimits;
    if (isCharged && offers.hasOtherUsersThan(user)) return undefined;
    return offers.firstIfTiny(spare, now, this.#isSuitableFor(worker, now));
  }

  /**
   * Sends more tasks to the slot as a chunk, which costs one request for all. Chunks shrink with the number of
   * waiting tasks, so that no slot idles beside a full one (guided self-scheduling, Polychronopoulos and Kuck 1987).
   */
  #addToChunk(first: Job, worker: Address, assignment: Assignment, spare: Resources, now: Millis): void {
    const { offers } = this.#s;
    const { members, joinedPolicy: policy } = this.#s.cluster;
    let leftMs = CHUNK_SHARE * policy.seriesMs - first.meanRunMs!;
    let left = Math.min(CHUNK_TASKS_MAX - 1, Math.floor(offers.waiting / (2 * members.slotCount)));
    for (; left > 0 && leftMs > 0; left--) {
      const offer = this.#firstTinyOffer(first.spec.user, spare, worker, now);
      // An attempt that may kill its worker must not share a chunk with other tasks.
      if (offer === undefined || offer.job.history.blame !== undefined) return;
      leftMs -= offer.job.meanRunMs!;
      if (leftMs < 0 || !this.#assignNext(offer.job, offer.batch, worker, assignment, now)) return;
      this.#updateSearch(offer.job, offer.batch, now);
    }
  }

  /**
   * Assigns the next tasks of a batch to workers that central has matched. Returns surplus workers to
   * central.
   */
  #useMatches(central: Address, message: MessageOf<'matched'>, now: Millis): void {
    const job = this.#s.jobs.byNumber(message.job);
    const batch = job?.batches[message.stage];
    if (job !== undefined && batch?.stage.gang !== undefined)
      return this.#useGangMatches(central, message, job, batch.stage, now);
    let gotNoTask = false;
    let isAnyUnused = false;
    for (const { worker, match, borrows } of message.workers) {
      if (batch !== undefined) batch.matchArrived(now);
      if (job !== undefined && batch !== undefined && job.mayAssign) {
        this.#s.cluster.members.matched(worker, now);
        if (this.#assignNext(job, batch, worker, { by: AssignedBy.match, number: match, borrows }, now))
          continue;
        gotNoTask = true;
      }
      this.#s.env.send(central, { type: 'unused', worker, match });
      isAnyUnused = true;
    }
    if (isAnyUnused) this.#s.needs.returnMatch(message.job, job, batch, now);
    if (job === undefined || batch === undefined) return;
    if (batch.waiting === 0) batchAssigned(this.#s, job, batch, now);
    else if (gotNoTask && job.history.maySearch(now)) findWorkers(this.#s, job, batch, now);
  }

  /** Assigns all members of a gang to workers that central has matched, or returns all workers. */
  #useGangMatches(
    central: Address,
    { workers }: MessageOf<'matched'>,
    job: Job,
    stage: Stage,
    now: Millis,
  ): void {
    for (const _ of workers) stage.matchArrived(now);
    const { members } = this.#s.cluster;
    const mayStart = job.isDurable && !job.hasEnded && !job.cancelling && job.canStartGang(stage);
    const isWhole = workers.length === stage.waiting && !workers.some(({ worker }) => members.isGone(worker));
    if (mayStart && isWhole) stage.gang!.reset();
    for (const { worker, match } of workers) {
      const task = mayStart && isWhole ? job.waiting.takeNext(stage) : -1;
      if (task < 0) {
        this.#s.env.send(central, { type: 'unused', worker, match });
        continue;
      }
      members.matched(worker, now);
      job.tasks.nextAttempt(task);
      this.#bind(job, task, worker, { by: AssignedBy.match, number: match }, now);
    }
    if (stage.waiting === 0) batchAssigned(this.#s, job, stage, now);
    else if (job.history.maySearch(now)) findWorkers(this.#s, job, stage, now);
  }

  /** Handles a match that the worker has not confirmed: sends the task again, or returns the slot. */
  #checkMatch(central: Address, { job: number, worker, match }: MessageOf<'checkMatch'>, now: Millis): void {
    const job = this.#s.jobs.byNumber(number);
    if (job !== undefined && resendTask(this.#s, job, worker, { by: AssignedBy.match, number: match }))
      return;
    this.#s.env.send(central, { type: 'unused', worker, match });
    if (job?.mayAssign) this.#s.needs.matchLost(job, now);
  }

  /** Whether the worker is admitted and its question is new; a lost answer is sent again. */
  #needsAnswer(from: Address, assignment: Assignment): boolean {
    if (this.#s.cluster.members.isAdmitted(from)) {
      if (this.#requestNumbers.isNew(from, assignment.number)) return true;
      for (const job of this.#s.jobs.withTasksAt(from))
        if (resendTask(this.#s, job, from, assignment)) return false;
    }
    this.#s.waitingSlots.take((slot) => slot.worker === from && slot.ask === assignment.number);
    answerNone(this.#s, from, assignment.number);
    return false;
  }

  #serveOffer(from: Address, assignment: Assignment, offer: Offer | undefined, now: Millis): void {
    if (offer === undefined) return answerNone(this.#s, from, assignment.number);
    const { job, batch } = offer;
    if (!this.#assignNext(job, batch, from, assignment, now)) answerNone(this.#s, from, assignment.number);
    this.#updateSearch(job, batch, now);
  }

  #refuseRequest(worker: Address, ask: number): void {
    this.#s.counters.asksRefused++;
    this.#s.prober.hints.add(worker);
    answerNone(this.#s, worker, ask);
  }

  /**
   * The task for a served probe, or −1. A repeated question that was answered `none` gets no task, because the worker
   * has that answer already.
   */
  #taskForProbe(job: Job, batch: Batch, from: Address, isNew: boolean, now: Millis): TaskIndex {
    if (!isNew) return -1;
    this.#s.prober.probesUsed(batch, from, 1);
    // A probe from before the job became long must not take a task that central places.
    const mayStart = job.mayAssign && job.route.by !== 'central' && !isUpToCentral(this.#s, job);
    return mayStart ? takeTask(this.#s, job, batch, from, now) : -1;
  }

  /** The placed task that the worker asks for, or −1 if the attempt is outdated or runs elsewhere. */
  #placedTask(job: Job, from: Address, placed: TaskAttempt, now: Millis): TaskIndex {
    const { task, attempt } = placed;
    if (task >= job.taskCount || job.cancelling) return -1;
    // The worker may ask before central's answer has arrived here.
    job.queuedAt(placed, from, now);
    const isNext = job.tasks.stateOf(task) === TaskState.placed && job.tasks.attemptOf(task) === attempt;
    return isNext ? task : -1;
  }

  /** @param gotNoTask the worker got no task */
  #updateSearch(job: Job, batch: Batch, now: Millis, gotNoTask = false): void {
    const { countingBatch } = batch;
    if (countingBatch !== batch && countingBatch.waiting === 0)
      batchAssigned(this.#s, job, countingBatch, now);
    if (batch.waiting === 0) batchAssigned(this.#s, job, batch, now);
    else if (batch.probes.outstanding < batch.waiting && (!gotNoTask || job.history.maySearch(now)))
      findWorkers(this.#s, job, batch, now);
  }

  /** Sends the next task of the batch to a worker that did not ask for this batch. @returns false if none waits */
  #assignNext(job: Job, batch: Batch, worker: Address, assignment: Assignment, now: Millis): boolean {
    if (assignNext(this.#s, job, batch, worker, assignment, now) < 0) return false;
    if (job.estimate.isUndecided) this.#s.sampler.evaluatePilots(job, now);
    return true;
  }

  #bind(job: Job, task: TaskIndex, worker: Address, assignment: Assignment, now: Millis): void {
    bindTask(this.#s, job, task, worker, assignment, now);
    if (job.estimate.isUndecided) this.#s.sampler.evaluatePilots(job, now);
  }

  #isSuitableFor(worker: Address, now: Millis): (offer: Offer) => boolean {
    return ({ job, batch }) => hasTaskFor(this.#s, job, batch, worker, now);
  }
}

/**
 * Detects repeated messages that are numbered per worker. Numbers grow and messages arrive in order, so each
 * worker's last number suffices.
 */
class LastNumbers {
  readonly #last = new AddressNumbers();

  /** Records the number. @returns whether it is new */
  isNew(worker: Address, number: number): boolean {
    if (number <= this.#last.get(worker)) return false;
    this.#last.set(worker, number);
    return true;
  }

  reset(workers: Iterable<Address>): void {
    for (const worker of workers) this.#last.set(worker, 0);
  }
}

/** Resources that a task with this demand frees besides its slot. */
function freedResources(demand: Resources): Resources {
  return demand === NO_RESOURCES ? demand : { cpu: 0, ...demand };
}
