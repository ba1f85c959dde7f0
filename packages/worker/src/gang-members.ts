import type { Address, MessageOf, Millis } from '@goshawk/core';
import { giveBackTask } from './giving-back.js';
import type { WaitingMember } from './memory.js';
import type { WorkerState } from './state.js';

// A gang member reserves its slot, reports that it is ready, and starts at the owner's request once all members are
// ready. Until then it can be returned like any task that has not started.

/** Keeps a gang member in its slot until its gang can start. */
export function holdMember(w: WorkerState, slot: number, message: MessageOf<'run'>, now: Millis): void {
  const needsPort = message.gang!.rank === 0 && w.env.findPort !== undefined;
  const member: WaitingMember = { message, port: needsPort ? undefined : 0, notifiedAt: now };
  w.memory.members.set(w.slots.rowOf(slot), member);
  if (needsPort) w.env.findPort!(slot);
  else reportReady(w, slot, member, now);
  w.armSweep(now);
}

/** Reports that a member is ready. @param port 0 if no free port was found, so that the task will fail */
export function memberReady(w: WorkerState, slot: number, port: number, now: Millis): void {
  const member = w.memory.members.get(w.slots.rowOf(slot));
  if (member === undefined || member.port !== undefined) return;
  member.port = port;
  reportReady(w, slot, member, now);
}

/** Removes and returns the member that waits in the slot; undefined if there is none. */
export function takeMember(w: WorkerState, slot: number): MessageOf<'run'> | undefined {
  const { members } = w.memory;
  if (members.size === 0) return undefined;
  const row = w.slots.rowOf(slot);
  const member = members.get(row);
  members.delete(row);
  return member?.message;
}

/** Returns a waiting member to its owner and frees its slot. @returns whether there was one */
export function giveBackMember(w: WorkerState, slot: number): boolean {
  const message = takeMember(w, slot);
  if (message === undefined) return false;
  const { owner } = w.slots.taskAt(slot);
  w.slots.release(slot);
  giveBackTask(w, owner, message, message.stage);
  return true;
}

/** Returns the waiting members of matching owners or slots. @returns whether there were any */
export function giveBackMembers(
  w: WorkerState,
  isMatch: (owner: Address, slot: number) => boolean = () => true,
): boolean {
  const slots = heldSlots(w).filter((slot) => isMatch(w.slots.taskAt(slot).owner, slot));
  for (const slot of slots) giveBackMember(w, slot);
  return slots.length > 0;
}

/** A gang waits at most about a lease for a lost member. */
const WAIT_LEASES = 3;

/**
 * Returns members that have waited too long. Their owner may have been lost together with central, so that nobody
 * reports the loss.
 *
 * @returns whether there were any
 */
export function giveBackOverdueMembers(w: WorkerState, now: Millis): boolean {
  const mostMs = WAIT_LEASES * w.timings.leaseMs;
  if (mostMs === 0) return false;
  const { changedAt } = w.memory.slots;
  return giveBackMembers(w, (_, slot) => now - changedAt[w.slots.rowOf(slot)]! > mostMs);
}

/**
 * Repeats the ready message to owners that have not replied.
 *
 * @returns whether any member waits
 */
export function sweepMembers(w: WorkerState, now: Millis): boolean {
  const slots = heldSlots(w);
  for (const slot of slots) {
    const member = w.memory.members.get(w.slots.rowOf(slot))!;
    if (member.port !== undefined && now - member.notifiedAt >= w.timings.retryMs)
      reportReady(w, slot, member, now);
  }
  return slots.length > 0;
}

function heldSlots(w: WorkerState): number[] {
  const { members } = w.memory;
  if (members.size === 0) return [];
  return [...w.slots.running()].filter((slot) => members.has(w.slots.rowOf(slot)));
}

function reportReady(w: WorkerState, slot: number, member: WaitingMember, now: Millis): void {
  const { owner, job, task, attempt } = w.slots.taskAt(slot);
  member.notifiedAt = now;
  const { host = '' } = w.config;
  w.env.send(owner, { type: 'gangReady', job, task, attempt, host, port: member.port! });
}
