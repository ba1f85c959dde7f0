import type { Borrowing, KillReason, MessageOf, Millis, TaskOfJob } from '@goshawk/core';
import { takePrediction } from './foreseeing.js';
import type { WorkerParts } from './parts.js';
import type { WorkerState } from './state.js';

// Loans of CPUs: a task pauses while another uses its CPUs, and continues before anything new starts there. Everything
// else that it holds stays with it.

/**
 * A task that still runs this time (ms) after it was asked to end has received SIGKILL, and waits in the kernel without using
 * CPUs.
 */
const STUCK_MS: Millis = 30_000;

/**
 * Frees the CPUs of the lenders for a task that central has matched. The parent of the task shares its CPUs and continues.
 *
 * @returns the slots of the lenders; undefined if the task does not borrow, or if they cannot make room for it: they have
 * ended, or the machine needs the memory of paused tasks
 */
export function lendTo(
  w: WorkerParts,
  { borrows, demand, jobId, task }: MessageOf<'run'>,
  now: Millis,
): readonly number[] | undefined {
  if (borrows === undefined || !w.takesWork) return undefined;
  const lenders = w.slots.hasSlotForBorrower ? lendersOf(w, borrows, now) : [];
  if (lenders.length === 0) return undefined;
  if (borrows.parent !== undefined) {
    // Without regard to memory: a parent that waits for its child would keep its own for ever.
    if (!w.slots.fitsBeside(lenders, demand)) return undefined;
    w.slots.pause(lenders, demand, { job: jobId, task }, true, now);
    return lenders;
  }
  if (w.env.pause === undefined || w.env.hasMemoryToLend?.() === false) return undefined;
  const fits = w.slots.owesCpus && w.slots.fitsBeside(lenders, demand);
  w.slots.pause(lenders, demand, { job: jobId, task }, false, now);
  if (fits || w.canRun(demand)) return lenders;
  takeBack(w, lenders, now);
  return undefined;
}

/** Reverts `lendTo`, because the task does not start. */
export function takeBack(w: WorkerParts, lenders: readonly number[], now: Millis): void {
  for (const lender of lenders) w.slots.resume(lender, now);
}

/** Pauses the lenders, whose CPUs the task in the slot uses from now on. */
export function beginLoan(
  w: WorkerParts,
  slot: number,
  lenders: readonly number[],
  { atMostMs, parent }: Borrowing,
  now: Millis,
): void {
  const shares = parent !== undefined;
  w.slots.borrow(slot, lenders, shares);
  if (atMostMs !== undefined && !shares) w.env.setTimer('loan', slot, now + atMostMs);
  for (const lender of lenders) {
    takePrediction(w, lender);
    if (!shares) {
      if (w.slots.timeoutOf(lender) !== undefined) w.env.clearTimer('taskTimeout', lender);
      w.env.pause?.(lender);
    }
    reportLending(w, lender, now);
  }
}

/**
 * Lets the lenders of the slot continue, because its task has ended, or has used their CPUs for as long as it may. In the
 * latter case the tasks share the CPUs, and nothing starts before other tasks have freed as many.
 *
 * @returns whether there were any
 */
export function endLoan(w: WorkerParts, slot: number, now: Millis): boolean {
  const loan = w.slots.loanOf(slot);
  if (loan === undefined) return false;
  w.env.clearTimer('loan', slot);
  const { lenders, shares } = loan;
  loan.lenders = [];
  for (const lender of lenders) {
    w.counted.lentCpuMs += w.slots.resume(lender, now);
    if (!shares) w.env.resume?.(lender);
    const timeoutMs = shares ? undefined : w.slots.timeoutOf(lender);
    if (timeoutMs !== undefined)
      w.env.setTimer('taskTimeout', lender, now + timeoutMs - w.slots.elapsedMs(lender, now));
    reportLending(w, lender, now);
  }
  return lenders.length > 0;
}

/**
 * Tells the task in the slot to end. A paused one continues until it has ended, beside its borrower, so the worker starts
 * nothing before one of them has freed the CPUs.
 */
export function kill(w: WorkerParts, slot: number, reason: KillReason, now: Millis): void {
  const { killedAt } = w.memory.slots;
  const row = w.slots.rowOf(slot);
  // Requests are repeated, and a task that cannot end may have lent its CPUs since.
  if (killedAt[row] === 0) {
    killedAt[row] = now;
    if (leaveLoan(w, slot, now)) reportLending(w, slot, now);
  }
  w.env.kill(slot, reason);
}

/**
 * Ends the loan of a paused task that ends, or is about to: its borrower keeps the CPUs.
 *
 * @returns whether it was paused
 */
export function leaveLoan(w: WorkerParts, slot: number, now: Millis): boolean {
  if (w.slots.pausedCount === 0 || !w.slots.isPaused(slot)) return false;
  const borrower = w.slots.borrowerOf(slot);
  const loan = w.slots.loanOf(borrower)!;
  loan.lenders = loan.lenders.filter((lender) => lender !== slot);
  w.counted.lentCpuMs += w.slots.resume(slot, now);
  reportBorrowing(w, borrower);
  return true;
}

/** Slots with these matches whose tasks may pause. */
function lendersOf(w: WorkerParts, { lenders, parent }: Borrowing, now: Millis): number[] {
  const { slots, memory } = w;
  const found = new Set(lenders.map((match) => (match === 0 ? -1 : slots.indexOfMatch(match))));
  return [...found].filter((slot) => {
    if (slot < 0 || slots.isPaused(slot)) return false;
    const isBorrower = (slots.loanOf(slot)?.lenders.length ?? 0) > 0;
    if (parent === undefined ? isBorrower : !isTask(slots.nameAt(slot), parent)) return false;
    const row = slots.rowOf(slot);
    const killedAt = memory.slots.killedAt[row]!;
    // A stopped process would not end in its grace period.
    const isEnding = killedAt > 0 && now - killedAt < STUCK_MS;
    const isOut = isEnding || memory.members.has(row);
    return !isOut && w.existingAhead?.isAnnounced(slot) !== true;
  });
}

function isTask(one: TaskOfJob, other: TaskOfJob): boolean {
  return one.job === other.job && one.task === other.task;
}

/** Tasks that are paused for the one in the slot. */
export function pausedFor({ slots }: WorkerState, slot: number): readonly TaskOfJob[] {
  return slots.loanOf(slot)?.lenders.map((lender) => slots.nameAt(lender)) ?? [];
}

/** Tells the owner of the borrower in the slot which tasks are paused for it, for its users. */
export function reportBorrowing(w: WorkerParts, slot: number): void {
  const { owner, job, task, attempt } = w.slots.taskAt(slot);
  if (w.memory.slots.orphaned[w.slots.rowOf(slot)] === 1) return;
  w.env.send(owner, {
    type: 'lent',
    job,
    task,
    attempt,
    to: undefined,
    pausedMs: 0,
    from: pausedFor(w, slot),
    ...(w.slots.loanOf(slot)?.shares === true ? { fromParent: true } : {}),
  });
}

/** Tells the owner of the task in the slot whether it is paused, for its users. */
function reportLending(w: WorkerParts, slot: number, now: Millis): void {
  const { owner, job, task, attempt } = w.slots.taskAt(slot);
  if (w.memory.slots.orphaned[w.slots.rowOf(slot)] === 1) return;
  const lent = w.slots.lendingOf(slot)?.lent;
  const child = lent?.shares === true ? { toChild: true } : {};
  const pausedMs = w.slots.pausedMs(slot, now);
  w.env.send(owner, { type: 'lent', job, task, attempt, to: lent?.to, pausedMs, ...child });
}
