import { type Address, LIMITS, type MessageOf, type Millis, type ReportedRun } from '@goshawk/core';
import type { TaskRef } from './entry.js';
import { kill, pausedFor } from './lending.js';
import type { WorkerParts } from './parts.js';
import { repeatOutput, sendUnconfirmed } from './printing.js';
import type { WorkerState } from './state.js';

/**
 * Returns the tasks that any central matched with or placed on this worker, running ones first. A new central needs
 * them to rebuild its state.
 */
export function assignedRuns(w: WorkerState, now: Millis): readonly ReportedRun[] {
  // A fast path: thousands of workers without tasks may register at once.
  if (w.slots.busyCount === 0 && w.queue.isEmpty) return NOTHING_HELD;
  const { slots } = w.memory;
  const held: ReportedRun[] = [];
  for (const slot of w.slots.running()) {
    const row = w.slots.rowOf(slot);
    const { stage, demand, estimateMs, placed } = w.slots.entryAt(slot)!;
    const match = slots.match[row]!;
    if (match === 0 && placed === undefined) continue;
    const { owner, job, task, attempt } = w.slots.taskAt(slot);
    const run = { match, owner, job, stage, task, attempt, long: slots.long[row] === 1, demand, estimateMs };
    held.push({ ...run, queued: false, elapsedMs: now - slots.changedAt[row]!, ...loansAt(w, slot, now) });
  }
  const asked = Array.from(w.slots.asking(), (slot) => w.slots.entryAt(slot)!);
  for (const { owner, job, stage, long, demand, estimateMs, placed } of [...asked, ...w.queue]) {
    if (held.length === LIMITS.heldTasksMax) break;
    if (placed === undefined) continue;
    const run = { match: 0, owner, job, stage, ...placed, long, demand, estimateMs };
    held.push({ ...run, queued: true, elapsedMs: 0 });
  }
  return held;
}

/** The loan of the task in the slot, and the matches of tasks that are paused for it: none if it outlasted its loan. */
function loansAt({ slots, memory }: WorkerState, slot: number, now: Millis): Partial<ReportedRun> {
  if (memory.lending.size === 0 && memory.loans.size === 0) return {};
  const loan = slots.loanOf(slot);
  const lenders = loan?.lenders.map((lender) => memory.slots.match[slots.rowOf(lender)]!);
  const pausedMs = slots.pausedMs(slot, now);
  return {
    ...(pausedMs > 0 ? { pausedMs } : {}),
    ...(lenders === undefined ? {} : { lenders }),
    ...(loan?.shares === true ? { shares: true } : {}),
  };
}

const NOTHING_HELD: readonly ReportedRun[] = [];

/** Returns whether the task runs here, waits for a slot, or has ended with an unconfirmed report. */
export function hasTask(w: WorkerState, owner: Address, task: TaskRef): boolean {
  if (w.slots.indexOfTask(owner, task) >= 0 || w.reports.has(owner, task)) return true;
  return w.existingAhead?.has(owner, task) === true || w.existingChunks?.holds(owner, task) === true;
}

/**
 * Reports to an owner its tasks on this worker: running, early and unconfirmed ones. Repeats the unconfirmed reports, and
 * output that was not acknowledged.
 */
export function reportTasks(w: WorkerState, owner: Address, audit: number, now: Millis): void {
  const { slots } = w.memory;
  const tasks: MessageOf<'holding'>['tasks'][number][] = [];
  for (const slot of w.slots.running()) {
    const row = w.slots.rowOf(slot);
    if (slots.owner[row] !== owner || slots.orphaned[row] === 1) continue;
    const { job, task, attempt } = w.slots.taskAt(slot);
    const match = slots.match[row]! || undefined;
    const lending = w.slots.lendingOf(slot);
    const paused = lending && { pausedMs: w.slots.pausedMs(slot, now), lentTo: lending.lent?.to };
    const toChild = lending?.lent?.shares === true ? { toChild: true } : {};
    const loan = w.slots.loanOf(slot);
    const fromParent = loan?.shares === true ? { fromParent: true } : {};
    const borrowed = loan === undefined ? {} : { borrowedFrom: pausedFor(w, slot), ...fromParent };
    const execution = w.slots.executionAt(slot);
    const rest = { ...paused, ...toChild, ...borrowed, execution };
    tasks.push({ job, task, attempt, elapsedMs: now - slots.changedAt[row]!, match, ...rest });
  }
  for (const { owner: by, message } of [
    ...(w.existingAhead?.kept ?? []),
    ...(w.existingChunks?.tasks() ?? []),
  ]) {
    const { job, task, attempt, match, execution } = message;
    if (by === owner) tasks.push({ job, task, attempt, elapsedMs: 0, match: match || undefined, execution });
  }
  w.reports.forEachTo(owner, ({ message: { job, task, attempt, runMs, execution }, endedAt }) =>
    tasks.push({ job, task, attempt, elapsedMs: runMs + now - endedAt, match: undefined, execution }),
  );
  w.env.send(owner, { type: 'holding', tasks, audit });
  // The owner takes output only of tasks that it knows to be here.
  repeatOutput(w, owner, audit === 0);
  w.reports.forEachTo(owner, (report) => sendUnconfirmed(w, report, now));
}

/**
 * Moves running tasks and unconfirmed reports to the new address of their owner. Central needs no message, because it
 * also accepts former addresses.
 */
export function rehome(
  w: WorkerState,
  owner: Address,
  previousIncarnations: readonly Address[],
  now: Millis,
): void {
  for (const former of previousIncarnations) w.reports.rehome(former, owner, now);
  const { owner: owners } = w.memory.slots;
  for (const slot of w.slots.running()) {
    const row = w.slots.rowOf(slot);
    if (previousIncarnations.includes(owners[row] as Address)) owners[row] = owner;
  }
}

/** Kills the running tasks of a lost owner, because nobody would receive their results. */
export function orphanTasksOf(w: WorkerParts, owner: Address, now: Millis): void {
  const { slots } = w.memory;
  for (const slot of w.slots.running()) {
    const row = w.slots.rowOf(slot);
    if (slots.owner[row] !== owner) continue;
    slots.orphaned[row] = 1;
    kill(w, slot, 'shutdown', now);
  }
}
