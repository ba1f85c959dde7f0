import type { Address, MessageOf, Millis, Outcome } from '@goshawk/core';
import type { KeptTask } from './ahead.js';
import { type Entry, entryOfGiven, entryOfPlaced, type TaskRef } from './entry.js';
import { giveBackKeptTask, giveBackSurplus, predictEnd, takePrediction } from './foreseeing.js';
import { giveBackMember, holdMember, takeMember } from './gang-members.js';
import { giveBack, giveBackTask, notifyCentral, placementOver } from './giving-back.js';
import { hasTask } from './held-tasks.js';
import { beginLoan, endLoan, kill, leaveLoan, lendTo, reportBorrowing, takeBack } from './lending.js';
import { detectSuspension, giveBackAll, reportIfDrained, resumeAccepting } from './lifecycle.js';
import type { WorkerParts } from './parts.js';
import { sendReport } from './printing.js';
import { sendAsk } from './questions.js';
import type { Series } from './series.js';

// Serves entries: asks owners for tasks, runs the tasks, and reports their ends.

/** Maximum delay of an end report within a chunk, as a fraction of the maximum duration of a series. */
const END_SHARE = 1 / 50;
/** Maximum run time of a tiny task, as a fraction of the maximum duration of a series. */
const CHUNK_SHARE = 1 / 10;

// ---- queueing and asking

/** Queues an entry, and serves it if a slot is free. */
export function enqueue(w: WorkerParts, entry: Entry, now: Millis): void {
  if (!w.takesWork) return giveBack(w, [entry]);
  w.queue.push(entry);
  serve(w, now);
}

/** Queues a task that central placed here. */
export function assigned(w: WorkerParts, message: MessageOf<'assign'>, now: Millis): void {
  const { owner } = message;
  if (!w.slots.serves(owner, message) && !w.queue.has(owner, message))
    enqueue(w, entryOfPlaced(message), now);
}

/** Serves the queue. If its head does not fit, all entries wait, so that tasks with large demands do not starve. */
export function serve(w: WorkerParts, now: Millis): void {
  const { idle } = w.memory.workers;
  if (idle[w.row] === 0) return;
  startKept(w, now);
  const { queue, slots } = w;
  while (idle[w.row]! > 0) {
    const head = queue.head();
    if (head === undefined || !slots.fits(head.demand)) return;
    queue.shift();
    const ask = ++w.asks;
    slots.ask(head, ask, now);
    sendAsk(w, head, ask);
    w.armSweep(now);
  }
}

/** Starts tasks that arrived early, once a slot is free. */
function startKept(w: WorkerParts, now: Millis): void {
  const ahead = w.existingAhead;
  if (ahead === undefined) return;
  while (w.slots.idleCount > 0) {
    const kept = ahead.takeFirst();
    if (kept === undefined) return;
    const { owner, message, entry } = kept;
    if (w.canRun(message.demand)) run(w, w.slots.ask(entry, 0, now), owner, message, now);
    else giveBackTask(w, owner, message, message.stage);
  }
}

/**
 * Serves queued entries after slots have become free, or looks for work elsewhere.
 *
 * @param isAnnounced whether central already counts the slots as free
 */
export function serveOrFind(w: WorkerParts, now: Millis, isAnnounced = false): void {
  const hasKept = !isAnnounced && w.existingAhead !== undefined && w.existingAhead.kept.length > 0;
  serve(w, now);
  // A worker that owes CPUs has no idle slot after the end of a task.
  giveBackSurplus(w);
  if (hasKept) w.finder?.report();
  if (w.slots.openCount === 0) return;
  if (w.takesWork) w.stealing?.begin(now);
  w.finder?.freed(now);
  reportIfDrained(w);
}

// ---- answers of owners

/** Handles a task that its owner sent in reply to an `ask` or a `seek`, or after a match. */
export function given(w: WorkerParts, from: Address, message: MessageOf<'run'>, now: Millis): void {
  detectSuspension(w, now);
  const { slots } = w;
  const slot = message.ask === 0 ? -1 : slots.indexOfAsk(message.ask);
  const asked = slot < 0 ? undefined : slots.entryAt(slot)!;
  if (asked?.owner === from) {
    // A loan may have ended early since the question: then tasks share CPUs.
    if (w.takesWork && !slots.owesCpus) return run(w, slot, from, message, now);
    giveBackTask(w, from, message, message.stage);
    placementOver(w, asked);
    release(w, slot, now);
    return reportIfDrained(w);
  }
  // Ignores a duplicate of a task that runs or has ended here.
  if (hasTask(w, from, message)) return;
  if (message.ask > 0 && w.takesWork && slots.indexOfAnswered(from, message.ask) >= 0)
    return addToChunk(w, from, message, now);
  const lenders = lendTo(w, message, now);
  const entry = w.finder?.accept(from, message, lenders !== undefined);
  if (entry === undefined) {
    if (lenders !== undefined) takeBack(w, lenders, now);
    giveBackTask(w, from, message, message.stage);
  } else if (lenders !== undefined) {
    const started = slots.ask(entry, 0, now);
    beginLoan(w, started, lenders, message.borrows!, now);
    run(w, started, from, message, now);
    reportBorrowing(w, started);
  } else if (!w.canRun(message.demand)) w.ahead.keep({ owner: from, message, entry });
  else run(w, slots.ask(entry, 0, now), from, message, now);
  w.finder?.answered(message, entry !== undefined, now);
}

/** Adds a task to the chunk of a running task. */
function addToChunk(w: WorkerParts, owner: Address, message: MessageOf<'run'>, now: Millis): void {
  const { ask } = message;
  if (w.chunks.first(ask) === undefined) w.env.setTimer('chunk', ask, now + CHUNK_SHARE * w.seriesMs);
  w.chunks.add(ask, { owner, message, entry: entryOfGiven(owner, message) });
}

/** Returns the waiting tasks of a chunk if the running one turned out not to be tiny. */
export function chunkOverdue(w: WorkerParts, ask: number, now: Millis): void {
  const first = w.existingChunks?.first(ask);
  if (first === undefined) return;
  const slot = w.slots.indexOfAnswered(first.owner, ask);
  if (slot < 0) return giveBackChunk(w, ask);
  const row = w.slots.rowOf(slot);
  const dueAt = w.memory.slots.changedAt[row]! + CHUNK_SHARE * w.seriesMs;
  if (now < dueAt) w.env.setTimer('chunk', ask, dueAt);
  else giveBackChunk(w, ask);
}

function giveBackChunk(w: WorkerParts, ask: number): void {
  for (const { owner, message } of w.existingChunks?.takeRest(ask) ?? [])
    giveBackTask(w, owner, message, message.stage);
}

/** Handles an owner's answer that it has no task: the slot serves the next entry. */
export function refused(w: WorkerParts, from: Address, ask: number, now: Millis): void {
  const { slots } = w;
  const slot = slots.indexOfAsk(ask);
  if (slot < 0) return w.finder?.refused(from, ask, now);
  placementOver(w, slots.entryAt(slot)!);
  release(w, slot, now);
}

/** Runs the task in the slot, which has asked for it. */
function run(w: WorkerParts, slot: number, owner: Address, message: MessageOf<'run'>, now: Millis): void {
  const entry = w.slots.entryAt(slot)!;
  w.slots.run(slot, owner, message, now);
  w.stealing?.foundWork();
  w.finder?.started();
  // Without leases, in simulations, workers do not become bad, and creating this would take memory.
  if (w.timings.leaseMs > 0) w.health.ran(slot, message.user);
  if (entry.placed !== undefined) notifyCentral(w, 'placementStarted', owner, message);
  if (message.gang !== undefined) return holdMember(w, slot, message, now);
  w.env.execute(slot, message, w.slots.gpusOf(slot), entry.demand, w.slots.matchAt(slot));
  if (message.expectedMs !== undefined && !w.slots.isBorrowing(slot))
    predictEnd(w, slot, message.expectedMs, now);
  const { apartMs, jobId, task } = message;
  if (apartMs !== undefined && w.health.startAlone(slot, jobId, task, apartMs, now)) giveBackAll(w);
}

/** Starts a gang member, because all members of its gang have slots. */
export function startMember(w: WorkerParts, from: Address, message: MessageOf<'startGang'>): void {
  const slot = w.slots.indexOfTask(from, message);
  const member = slot < 0 ? undefined : takeMember(w, slot);
  if (member === undefined) return;
  const { hosts, port } = message;
  const order = { ...member, gang: { ...member.gang!, hosts, port } };
  w.env.execute(slot, order, w.slots.gpusOf(slot), w.slots.entryAt(slot)!.demand, w.slots.matchAt(slot));
}

// ---- running tasks

/** Starts the time limit of a task that has started. */
export function started(w: WorkerParts, slot: number, now: Millis): void {
  if (!w.slots.isRunning(slot)) return;
  const timeoutMs = w.slots.started(slot, now);
  w.existingHealth?.started();
  if (timeoutMs !== undefined && !w.slots.isStopped(slot))
    w.env.setTimer('taskTimeout', slot, now + timeoutMs);
}

/** Counts a task as long, because its job was reclassified. */
export function markLong(w: WorkerParts, from: Address, task: TaskRef): void {
  if (giveBackKeptTask(w, from, task)) return;
  const slot = w.slots.indexOfTask(from, task);
  if (slot >= 0 && w.slots.markLong(slot)) w.finder?.report();
}

/** Kills a task that its owner preempts because the policy needs its resources. */
export function evict(w: WorkerParts, from: Address, task: TaskRef, now: Millis): void {
  if (giveBackKeptTask(w, from, task)) return;
  const slot = w.slots.indexOfTask(from, task);
  if (slot < 0) return;
  if (giveBackMember(w, slot)) serveOrFind(w, now);
  else kill(w, slot, 'preempted', now);
}

/** Drops the probes of a batch that has no tasks left, then serves the entries behind them. */
export function cancelProbes(
  w: WorkerParts,
  from: Address,
  { job, stage }: MessageOf<'cancelProbes'>,
  now: Millis,
): void {
  if (w.queue.removeProbes(from, job, stage).length > 0) serveOrFind(w, now);
}

/** Cancels a task: kills it if it runs, and drops it if it waits. */
export function cancel(w: WorkerParts, from: Address, task: TaskRef, now: Millis): void {
  const slot = w.slots.indexOfTask(from, task);
  if (slot >= 0) {
    if (giveBackMember(w, slot)) serveOrFind(w, now);
    else kill(w, slot, 'cancelled', now);
    return;
  }
  if (w.reports.has(from, task) || giveBackKeptTask(w, from, task)) return;
  const waiting = w.queue.removePlaced(from, task);
  if (waiting !== undefined) placementOver(w, waiting);
  // Reports the task even if it was never here, because the owner repeats the request until it gets a report.
  giveBackTask(w, from, task, waiting?.stage);
  if (waiting !== undefined) serveOrFind(w, now);
}

/**
 * Reports the end of a task and frees its slot, or continues its series.
 * @param runMs run time measured by the executor
 */
export function ended(w: WorkerParts, slot: number, outcome: Outcome, runMs: Millis, now: Millis): void {
  const { slots, existingHealth } = w;
  leaveLoan(w, slot, now);
  if (slots.timeoutOf(slot) !== undefined) w.env.clearTimer('taskTimeout', slot);
  if (slots.printedBy(slot) !== undefined) w.env.clearTimer('output', slot);
  const wasAlone = existingHealth?.endAlone(slot) === true;
  if (outcome.kind === 'completed') existingHealth?.completed(slot, now);
  else if (w.health.ended(outcome, now)) giveBackAll(w);

  const isAnnounced = takePrediction(w, slot);
  const goesOn = !wasAlone && !isAnnounced && continuesSeries(w, slot, outcome, runMs, now);
  const answered = slots.askOf(slot);
  const follower = goesOn ? w.existingChunks?.next(answered) : undefined;
  const ask = goesOn && follower === undefined ? ++w.asks : 0;
  const row = slots.rowOf(slot);
  const { long, since, match } = w.memory.slots;
  const entry = slots.entryAt(slot)!;
  const task = slots.taskAt(slot);
  const report = createReport(w, slot, { outcome, runMs }, ask, now);
  if (follower === undefined) sendEnd(w, task.owner, report, now);
  else delayReport(w, task.owner, report, now);
  // Only completed tasks count: the class of a killed one may be unknown.
  if (long[row] === 0 && outcome.kind === 'completed') w.finder?.shortEnded(runMs);
  if (entry.placed !== undefined) notifyCentral(w, 'placementEnded', task.owner, task);
  if (goesOn) {
    const series = { since: since[row]!, match: match[row]!, report };
    slots.release(slot);
    if (follower !== undefined) return runFollower(w, answered, follower, series, now);
    const next = entryOfGiven(task.owner, {
      job: task.job,
      stage: entry.stage,
      long: false,
      demand: entry.demand,
    });
    slots.ask(next, ask, now, series);
    return w.armSweep(now);
  }
  giveBackChunk(w, answered);
  endLoan(w, slot, now);
  release(w, slot, now, isAnnounced);
  if (wasAlone) resumeAccepting(w, now);
}

/** Releases the slot, and serves or finds another task unless the worker owes its CPUs. */
function release(w: WorkerParts, slot: number, now: Millis, isAnnounced = false): void {
  const { slots } = w;
  const ownsNoCpu = slots.owesCpus || slots.isBorrowing(slot);
  slots.release(slot);
  serveOrFind(w, now, isAnnounced);
  // Central counts the task until the next report, although its end frees no CPU.
  if (ownsNoCpu && slots.idleCount === 0) w.finder?.report();
}

/** Runs the next task of a chunk in the free slot, if its demand fits. */
function runFollower(
  w: WorkerParts,
  ask: number,
  { owner, message, entry }: KeptTask,
  series: Series,
  now: Millis,
): void {
  if (w.canRun(entry.demand)) return run(w, w.slots.ask(entry, ask, now, series), owner, message, now);
  giveBackTask(w, owner, message, message.stage);
  giveBackChunk(w, ask);
  serveOrFind(w, now);
}

/** Returns whether the slot should ask the same owner for another task, because its tasks are tiny. */
function continuesSeries(
  w: WorkerParts,
  slot: number,
  { kind }: Outcome,
  runMs: Millis,
  now: Millis,
): boolean {
  if (w.seriesMs === 0 || kind !== 'completed' || !w.takesWork || !w.queue.isEmpty) return false;
  // The CPUs return to the lenders, or are owed to tasks that share them.
  if (w.slots.isBorrowing(slot) || w.slots.owesCpus) return false;
  if (w.existingAhead !== undefined && w.existingAhead.kept.length > 0) return false;
  const { long, orphaned, since } = w.memory.slots;
  const row = w.slots.rowOf(slot);
  const isPlaced = w.slots.entryAt(slot)!.placed !== undefined;
  if (long[row] === 1 || orphaned[row] === 1 || isPlaced) return false;
  // Returning the rest of a chunk costs more than running it, because its tasks are tiny.
  const hasFollower = w.existingChunks?.first(w.slots.askOf(slot)) !== undefined;
  return hasFollower || now - since[row]! + runMs < w.seriesMs;
}

/**
 * Creates the report of an end, and keeps it until it is confirmed.
 * @param ask the question for the next task; 0: none
 */
function createReport(
  w: WorkerParts,
  slot: number,
  { outcome, runMs }: Pick<MessageOf<'ended'>, 'outcome' | 'runMs'>,
  ask: number,
  now: Millis,
): MessageOf<'ended'> {
  const { owner, job, task, attempt } = w.slots.taskAt(slot);
  const printed = w.slots.printedBy(slot);
  const report: MessageOf<'ended'> = {
    type: 'ended',
    // Results of an earlier process have the first numbers.
    report: (w.config.results?.length ?? 0) + ++w.tasksEnded,
    job,
    task,
    attempt,
    outcome,
    runMs,
    output: printed?.takeRest() ?? NO_OUTPUT,
    outputBytes: printed?.printedBytes ?? 0,
    ask,
    ...loansOf(w, slot, now),
    ...(w.memory.executions.size > 0 ? { execution: w.slots.executionAt(slot) } : {}),
  };
  if (w.timings.retryMs > 0 && w.memory.slots.orphaned[w.slots.rowOf(slot)] === 0) {
    w.reports.keep(owner, report, now, w.slots.takeOutput(slot));
    w.armSweep(now);
  }
  return report;
}

/** CPUs that the task has lent and borrowed; empty for most tasks. */
function loansOf(
  w: WorkerParts,
  slot: number,
  now: Millis,
): Pick<MessageOf<'ended'>, 'pausedMs' | 'borrowedFrom' | 'fromParent'> {
  const lending = w.slots.lendingOf(slot);
  const loan = w.slots.loanOf(slot);
  if (lending === undefined && loan === undefined) return NO_LOANS;
  const pausedMs = w.slots.pausedMs(slot, now);
  return {
    ...(pausedMs > 0 ? { pausedMs } : {}),
    ...(loan === undefined ? {} : { borrowedFrom: loan.from }),
    ...(loan?.shares === true ? { fromParent: true } : {}),
  };
}

const NO_LOANS = {};

/** Delays the report, because another task of its chunk follows and will end soon. */
function delayReport(w: WorkerParts, owner: Address, report: MessageOf<'ended'>, now: Millis): void {
  if (w.chunks.hold({ owner, report })) w.env.setTimer('ends', 0, now + END_SHARE * w.seriesMs);
}

function sendEnd(w: WorkerParts, owner: Address, report: MessageOf<'ended'>, now: Millis): void {
  sendDelayedReports(w, now);
  sendReport(w, owner, report, now);
}

/** Sends the reports that were delayed to send several together. */
export function sendDelayedReports(w: WorkerParts, now: Millis): void {
  for (const { owner, report } of w.existingChunks?.takeEnds() ?? []) sendReport(w, owner, report, now);
}

const NO_OUTPUT: MessageOf<'ended'>['output'] = [];
