import type { LogChunk } from '@goshawk/client';
import { type OutputSink, wholeLines } from './task-output.js';

/**
 * The output in the order of the tasks; within a task it stays as it came.
 *
 * @param chunks in the order in which they came
 */
export function inTaskOrder(chunks: readonly LogChunk[]): LogChunk[] {
  return [...chunks].sort((a, b) => a.task - b.task);
}

/** The last lines of each task, both streams and all attempts together. */
export function lastLines(chunks: readonly LogChunk[], count: number): LogChunk[] {
  const lines: LogChunk[] = [];
  const sink: OutputSink = wholeLines((line) => lines.push(line));
  for (const chunk of chunks) sink.write(chunk);
  sink.end();
  const left = new Map<number, number>();
  for (const { task } of lines) left.set(task, (left.get(task) ?? 0) + 1);
  return lines.filter(({ task }) => {
    const remaining = left.get(task)!;
    left.set(task, remaining - 1);
    return remaining <= count;
  });
}
