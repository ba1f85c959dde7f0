import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { TaskRef } from './entry.js';
import type { OutputBuffer } from './output-buffer.js';
import type { Unconfirmed } from './reports.js';
import type { WorkerState } from './state.js';

// A worker streams task output to the job's owner: after a short delay, or as soon as much is unsent. Output is kept until
// the owner confirms the end of the task, so that a restarted owner gets all of it again.

/** Buffers output of a running task. @param dueAt time by which to send it */
export function print(
  w: WorkerState,
  slot: number,
  stream: 'stdout' | 'stderr',
  bytes: Uint8Array,
  dueAt: Millis,
): void {
  if (!w.slots.isRunning(slot)) return;
  const output = w.slots.outputOf(slot);
  if (!output.hasUnsent) w.env.setTimer('output', slot, dueAt);
  output.append(stream, bytes);
  if (output.isFull && !output.isBlocked) flush(w, slot);
}

/** Sends the output that a running task has printed since the last message. */
export function flush(w: WorkerState, slot: number): void {
  const output = w.slots.isRunning(slot) ? w.slots.printedBy(slot) : undefined;
  if (output === undefined || !output.hasUnsent) return;
  const { owner, ...task } = w.slots.taskAt(slot);
  sendOutput(w, owner, task, output);
  w.env.clearTimer('output', slot);
}

function sendOutput(w: WorkerState, owner: Address, task: TaskRef, output: OutputBuffer): void {
  for (const placed of output.take())
    w.env.send(owner, { type: 'output', ...task, ...placed, keptFrom: output.keptFrom });
}

/** Handles an owner's acknowledgment of output. */
export function outputReceived(
  w: WorkerState,
  from: Address,
  message: MessageOf<'outputReceived'>,
  now: Millis,
): void {
  const { bytes, gap } = message;
  const slot = w.slots.indexOfTask(from, message);
  if (slot >= 0) {
    if (w.slots.printedBy(slot)?.received(bytes, gap)) flush(w, slot);
    return;
  }
  const report = w.reports.of(from, message);
  const output = report?.output;
  if (report === undefined || output === undefined) return;
  if (output.received(bytes, gap)) sendOutput(w, from, refOf(report.message), output);
  if (report.isDeferred) sendUnconfirmed(w, report, now);
}

/** Sends the report of an end. */
export function sendReport(w: WorkerState, owner: Address, message: MessageOf<'ended'>, now: Millis): void {
  const report = message.outputBytes > 0 ? w.reports.of(owner, message) : undefined;
  if (report === undefined) w.env.send(owner, message);
  else sendUnconfirmed(w, report, now);
}

/** Sends a report, or first the output before that of the report, which the owner acknowledges. */
export function sendUnconfirmed(w: WorkerState, report: Unconfirmed, now: Millis): void {
  const { owner, message, output, endedAt } = report;
  if (output !== undefined) {
    report.isDeferred = output.isMissingBefore(message);
    if (report.isDeferred) return sendOutput(w, owner, refOf(message), output);
  }
  w.env.send(owner, now > endedAt ? { ...message, endedAgoMs: now - endedAt } : message);
}

/** Sends output again, because its owner has restarted or may have missed some. */
export function repeatOutput(w: WorkerState, owner: Address, isRestarted: boolean): void {
  for (const slot of w.slots.running()) {
    const output = w.slots.printedBy(slot);
    if (output === undefined || w.slots.taskAt(slot).owner !== owner) continue;
    if (isRestarted) output.restart();
    else output.rewind();
    flush(w, slot);
  }
  w.reports.forEachTo(owner, ({ output }) => {
    if (isRestarted) output?.restart();
    else output?.rewind();
  });
}

function refOf({ job, task, attempt }: TaskRef): TaskRef {
  return { job, task, attempt };
}
