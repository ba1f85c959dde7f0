import type { Millis } from '@goshawk/core';
import type { WorkerState } from './state.js';

// A worker streams task output to the job's owner: after a short delay, or as soon as the buffer is full.

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
  if (output.isEmpty) w.env.setTimer('output', slot, dueAt);
  output.append(stream, bytes);
  if (output.isFull) flush(w, slot);
}

export function flush(w: WorkerState, slot: number): void {
  const output = w.slots.isRunning(slot) ? w.slots.printedBy(slot) : undefined;
  if (output === undefined || output.isEmpty) return;
  const { owner, ...task } = w.slots.taskAt(slot);
  let offset = output.sentBytes;
  for (const chunk of output.take()) {
    w.env.send(owner, { type: 'output', ...task, offset, chunk });
    offset += chunk.bytes.length;
  }
  w.env.clearTimer('output', slot);
}
