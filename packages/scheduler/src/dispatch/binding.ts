import {
  type Address,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type Resources,
  type TaskAttempt,
  type TaskIndex,
} from '@goshawk/core';
import { AssignedBy, type Assignment } from '../job/assignment.js';
import type { Batch, Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { Offer } from '../state/offers.js';
import type { SchedulerState } from '../state/state.js';
import { addWaitingSlot, answerNone, assignNext, bindTask, joinsSeries, takeTask } from './assigning.js';
import { hasTaskFor } from './avoidance.js';
import { resendTask } from './delivery.js';
import { matchLost, returnMatch } from './needing.js';
import { probesUsed } from './probing.js';
import { batchAssigned, findWorkers, isUpToCentral, isWithoutCentral } from './routing.js';
import { evaluatePilots } from './sampling.js';

/** Maximum number of tasks in a chunk. */
const CHUNK_TASKS_MAX = 16;
/** Maximum estimated run time of a chunk, as a fraction of that of a series. */
const CHUNK_SHARE = 1 / 50;

/** Messages that ask for tasks of a job. */
type TaskRequest = MessageOf<'ask'> | MessageOf<'matched'> | MessageOf<'checkMatch'>;

// Binds each task to one worker. The worker may serve a probe (late binding, Hawk §3.5), queue a placed task,
// be matched with the batch by central, or seek any task. A seeking worker gets the first task in order of
// all batches.

/**
 * Resets the numbers of workers that left. A worker that returns numbers its requests and matches from the
 * start.
 */
export function forgetRequests(s: SchedulerState, workers: ReadonlySet<Address>): void {
  s.numbers.reset(workers);
  while (s.waitingSlots.take(({ worker }) => workers.has(worker)) !== undefined);
}

/** Answers a request for tasks, once the job is durable. */
export function receiveRequest(s: SchedulerState, from: Address, received: TaskRequest, now: Millis): void {
  // Duplicate matches are dropped on arrival, because a match that waits for the disk may be overtaken by later ones.
  const message = received.type === 'matched' ? dropKnownMatches(s, from, received, now) : received;
  const job = s.notDurableJobs.isEmpty ? undefined : s.jobs.byNumber(message.job);
  if (job !== undefined && s.notDurableJobs.defers(job, (then) => serveRequest(s, from, message, then)))
    return;
  serveRequest(s, from, message, now);
}

function serveRequest(s: SchedulerState, from: Address, message: TaskRequest, now: Millis): void {
  if (message.type === 'ask') return serveProbe(s, from, message, now);
  if (s.cluster.isFormerCentral(from)) return;
  if (message.type === 'matched') useMatches(s, from, message, now);
  else checkMatch(s, from, message, now);
}

function dropKnownMatches(
  s: SchedulerState,
  central: Address,
  message: MessageOf<'matched'>,
  now: Millis,
): MessageOf<'matched'> {
  if (s.cluster.isFormerCentral(central)) return message;
  s.cluster.matched(message, now);
  const workers = message.workers.filter(({ worker, match }) => s.numbers.isNewMatch(central, worker, match));
  return workers.length === message.workers.length ? message : { ...message, workers };
}

/** Answers a worker that serves a probe or a placed task and asks which task to run. */
function serveProbe(s: SchedulerState, from: Address, message: MessageOf<'ask'>, now: Millis): void {
  const job = s.jobs.byNumber(message.job);
  const batch = job?.batches[message.stage];
  if (job === undefined || batch === undefined || job.hasEnded) return refuseRequest(s, from, message.ask);
  if (!s.cluster.members.isAdmitted(from)) {
    // A worker repeats its question about a placed task, of which central's report may still arrive.
    if (message.placed === undefined) refuseRequest(s, from, message.ask);
    return;
  }
  const isNew = s.numbers.isNewRequest(from, message.ask);
  const assignment: Assignment = { by: AssignedBy.ask, number: message.ask };
  if (!isNew && resendTask(s, job, from, assignment)) return;
  const task =
    message.placed === undefined
      ? taskForProbe(s, job, batch, from, isNew, now)
      : placedTask(job, from, message.placed, now);
  if (task < 0) {
    refuseRequest(s, from, message.ask);
  } else {
    s.hints.delete(from);
    bindAndEvaluate(s, job, task, from, assignment, now);
  }
  if (message.placed === undefined) updateSearch(s, job, batch, now, task < 0);
}

/** Assigns the first eligible short task to an idle worker. */
export function serveSeek(
  s: SchedulerState,
  from: Address,
  { ask, spare }: MessageOf<'seek'>,
  now: Millis,
): void {
  const assignment: Assignment = { by: AssignedBy.ask, number: ask };
  if (!needsAnswer(s, from, assignment)) return;
  const isSuitable = isSuitableFor(s, from, now);
  // Only central knows how many tasks of such a user run, even if the worker misses it.
  const hasCentral = !isWithoutCentral(s, now);
  const offer = s.offers.first(
    spare,
    now,
    (each) =>
      isSuitable(each) &&
      !(hasCentral && s.quotas.limitsRunningTasks(each.job.spec.user)) &&
      !isUpToCentral(s, each.job),
  );
  if (offer === undefined) s.hints.add(from);
  else s.hints.delete(from);
  serveOffer(s, from, assignment, offer, now);
}

/**
 * Answers a slot that has run a tiny task and requests another. It gets the first task in order if that is tiny.
 * Otherwise the worker asks central or other schedulers, so that larger tasks are still bound late.
 */
export function continueSeries(
  s: SchedulerState,
  from: Address,
  { ask, job: ended, task }: MessageOf<'ended'>,
  now: Millis,
): void {
  if (ask === 0) return;
  const assignment: Assignment = { by: AssignedBy.ask, number: ask };
  if (!needsAnswer(s, from, assignment)) return;
  const job = s.jobs.byNumber(ended);
  const stage = job?.dag.stageOf(task).spec;
  if (stage !== undefined && !joinsSeries(stage)) return serveOffer(s, from, assignment, undefined, now);
  const spare = freedResources(stage?.demand ?? NO_RESOURCES);
  const offer = firstTinyOffer(s, job?.spec.user, spare, from, now);
  // A slot may wait here only if no task waits. Central counts it as used by the user of its last task, so with
  // quotas a task of another user must not get it.
  const mayWait = s.waitingSlots.mayWait && !s.quotas.hasLimits;
  if (offer === undefined && mayWait && s.offers.size === 0)
    return addWaitingSlot(s, { worker: from, ask, spare }, now);
  serveOffer(s, from, assignment, offer, now);
  if (offer !== undefined) addToChunk(s, offer.job, from, assignment, spare, now);
}

/**
 * The first task in order, if it is tiny. If users share the cluster or have quotas, central chooses among users.
 */
function firstTinyOffer(
  s: SchedulerState,
  user: string | undefined,
  spare: Resources,
  worker: Address,
  now: Millis,
): Offer | undefined {
  const { offers } = s;
  const { shareBy } = s.cluster.joinedPolicy.preset.decidedBy.options;
  const isCharged = shareBy !== 'none' || s.quotas.hasLimits;
  if (isCharged && offers.hasOtherUsersThan(user)) return undefined;
  const offer = offers.firstIfTiny(spare, now, isSuitableFor(s, worker, now));
  return offer !== undefined && joinsSeries(offer.batch.spec) ? offer : undefined;
}

/**
 * Sends more tasks to the slot as a chunk, which costs one request for all. Chunks shrink with the number of
 * waiting tasks, so that no slot idles beside a full one (guided self-scheduling, Polychronopoulos and Kuck 1987).
 */
function addToChunk(
  s: SchedulerState,
  first: Job,
  worker: Address,
  assignment: Assignment,
  spare: Resources,
  now: Millis,
): void {
  const { offers } = s;
  const { members, joinedPolicy: policy } = s.cluster;
  let leftMs = CHUNK_SHARE * policy.seriesMs - first.meanRunMs!;
  let left = Math.min(CHUNK_TASKS_MAX - 1, Math.floor(offers.waiting / (2 * members.slotCount)));
  for (; left > 0 && leftMs > 0; left--) {
    const offer = firstTinyOffer(s, first.spec.user, spare, worker, now);
    // An attempt that may kill its worker must not share a chunk with other tasks.
    if (offer === undefined || offer.job.history.blame !== undefined) return;
    leftMs -= offer.job.meanRunMs!;
    if (leftMs < 0 || !assignTask(s, offer.job, offer.batch, worker, assignment, now)) return;
    updateSearch(s, offer.job, offer.batch, now);
  }
}

/**
 * Assigns the next tasks of a batch to workers that central has matched. Returns surplus workers to
 * central.
 */
function useMatches(s: SchedulerState, central: Address, message: MessageOf<'matched'>, now: Millis): void {
  const job = s.jobs.byNumber(message.job);
  const batch = job?.batches[message.stage];
  if (job !== undefined && batch?.stage.gang !== undefined)
    return useGangMatches(s, central, message, job, batch.stage, now);
  let gotNoTask = false;
  let isAnyUnused = false;
  for (const { worker, match, borrows } of message.workers) {
    if (batch !== undefined) batch.matchArrived(now);
    if (job !== undefined && batch !== undefined && job.mayAssign) {
      s.cluster.members.matched(worker, now);
      if (assignTask(s, job, batch, worker, { by: AssignedBy.match, number: match, borrows }, now)) continue;
      gotNoTask = true;
    }
    s.env.send(central, { type: 'unused', worker, match });
    isAnyUnused = true;
  }
  if (isAnyUnused) returnMatch(s, message.job, job, batch, now);
  if (job === undefined || batch === undefined) return;
  if (batch.waiting === 0) batchAssigned(s, job, batch, now);
  else if (gotNoTask && job.history.maySearch(now)) findWorkers(s, job, batch, now);
}

/** Assigns all members of a gang to workers that central has matched, or returns all workers. */
function useGangMatches(
  s: SchedulerState,
  central: Address,
  { workers }: MessageOf<'matched'>,
  job: Job,
  stage: Stage,
  now: Millis,
): void {
  for (const _ of workers) stage.matchArrived(now);
  const { members } = s.cluster;
  const mayStart = job.isDurable && !job.hasEnded && !job.cancelling && job.canStartGang(stage);
  const isWhole = workers.length === stage.waiting && !workers.some(({ worker }) => members.isGone(worker));
  if (mayStart && isWhole) stage.gang!.reset();
  for (const { worker, match } of workers) {
    const task = mayStart && isWhole ? job.waiting.takeNext(stage) : -1;
    if (task < 0) {
      s.env.send(central, { type: 'unused', worker, match });
      continue;
    }
    members.matched(worker, now);
    job.tasks.nextAttempt(task);
    bindAndEvaluate(s, job, task, worker, { by: AssignedBy.match, number: match }, now);
  }
  if (stage.waiting === 0) batchAssigned(s, job, stage, now);
  else if (job.history.maySearch(now)) findWorkers(s, job, stage, now);
}

/** Handles a match that the worker has not confirmed: sends the task again, or returns the slot. */
function checkMatch(
  s: SchedulerState,
  central: Address,
  { job: number, worker, match }: MessageOf<'checkMatch'>,
  now: Millis,
): void {
  const job = s.jobs.byNumber(number);
  if (job !== undefined && resendTask(s, job, worker, { by: AssignedBy.match, number: match })) return;
  s.env.send(central, { type: 'unused', worker, match });
  if (job?.mayAssign) matchLost(s, job, now);
}

/** Whether the worker is admitted and its question is new; a lost answer is sent again. */
function needsAnswer(s: SchedulerState, from: Address, assignment: Assignment): boolean {
  if (s.cluster.members.isAdmitted(from)) {
    if (s.numbers.isNewRequest(from, assignment.number)) return true;
    for (const job of s.jobs.withTasksAt(from)) if (resendTask(s, job, from, assignment)) return false;
  }
  s.waitingSlots.take((slot) => slot.worker === from && slot.ask === assignment.number);
  answerNone(s, from, assignment.number);
  return false;
}

function serveOffer(
  s: SchedulerState,
  from: Address,
  assignment: Assignment,
  offer: Offer | undefined,
  now: Millis,
): void {
  if (offer === undefined) return answerNone(s, from, assignment.number);
  const { job, batch } = offer;
  if (!assignTask(s, job, batch, from, assignment, now)) answerNone(s, from, assignment.number);
  updateSearch(s, job, batch, now);
}

function refuseRequest(s: SchedulerState, worker: Address, ask: number): void {
  s.counters.asksRefused++;
  s.hints.add(worker);
  answerNone(s, worker, ask);
}

/**
 * The task for a served probe, or −1. A repeated question that was answered `none` gets no task, because the worker
 * has that answer already.
 */
function taskForProbe(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  from: Address,
  isNew: boolean,
  now: Millis,
): TaskIndex {
  if (!isNew) return -1;
  probesUsed(batch, from, 1);
  // A probe from before the job became long must not take a task that central places.
  const mayStart = job.mayAssign && job.route.by !== 'central' && !isUpToCentral(s, job);
  return mayStart ? takeTask(s, job, batch, from, now) : -1;
}

/** The placed task that the worker asks for, or −1 if the attempt is outdated or runs elsewhere. */
function placedTask(job: Job, from: Address, placed: TaskAttempt, now: Millis): TaskIndex {
  const { task, attempt } = placed;
  if (task >= job.taskCount || job.cancelling) return -1;
  // The worker may ask before central's answer has arrived here.
  job.queuedAt(placed, from, now);
  const isNext = job.tasks.stateOf(task) === TaskState.placed && job.tasks.attemptOf(task) === attempt;
  return isNext ? task : -1;
}

/** @param gotNoTask the worker got no task */
function updateSearch(s: SchedulerState, job: Job, batch: Batch, now: Millis, gotNoTask = false): void {
  const { countingBatch } = batch;
  if (countingBatch !== batch && countingBatch.waiting === 0) batchAssigned(s, job, countingBatch, now);
  if (batch.waiting === 0) batchAssigned(s, job, batch, now);
  else if (batch.probes.outstanding < batch.waiting && (!gotNoTask || job.history.maySearch(now)))
    findWorkers(s, job, batch, now);
}

/** Sends the next task of the batch to a worker that did not ask for this batch. @returns false if none waits */
function assignTask(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  worker: Address,
  assignment: Assignment,
  now: Millis,
): boolean {
  if (assignNext(s, job, batch, worker, assignment, now) < 0) return false;
  if (job.estimate.isUndecided) evaluatePilots(s, job, now);
  return true;
}

function bindAndEvaluate(
  s: SchedulerState,
  job: Job,
  task: TaskIndex,
  worker: Address,
  assignment: Assignment,
  now: Millis,
): void {
  bindTask(s, job, task, worker, assignment, now);
  if (job.estimate.isUndecided) evaluatePilots(s, job, now);
}

function isSuitableFor(s: SchedulerState, worker: Address, now: Millis): (offer: Offer) => boolean {
  return ({ job, batch }) => hasTaskFor(s, job, batch, worker, now);
}

/** Resources that a task with this demand frees besides its slot. */
function freedResources(demand: Resources): Resources {
  return demand === NO_RESOURCES ? demand : { cpu: 0, ...demand };
}
