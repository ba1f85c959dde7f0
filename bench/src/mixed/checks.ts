import { sumOf } from '@goshawk/core';
import type { JournalEntry, RecordedJob } from '@goshawk/traces';
import { percentile } from '../bench-report.js';

/** The run that completed a task, as its scheduler recorded it. ms since 1970 */
interface Run {
  readonly task: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Ranks of a gang start within this time of each other, or within this part of their run time. */
const APART_MS = 1_000;
const APART = 0.25;

/** Returns the faults of a run: gangs that did not start together, and tasks with no result or several. */
export function faultsIn(entries: readonly JournalEntry[]): string[] {
  const faults: string[] = [];
  const runs = new Map<string, Run[]>();
  const gangs = new Map<string, number>();
  const tasks = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === 'accepted') {
      const counts = entry.spec.stages.map(({ tasks: listed }) => countOf(listed));
      tasks.set(
        entry.id,
        sumOf(counts, (count) => count),
      );
      if (entry.spec.stages.length === 1 && entry.spec.stages[0]!.gang) gangs.set(entry.id, counts[0]!);
    }
    if (entry.kind !== 'attempt' || entry.outcome.kind !== 'completed') continue;
    const run = { task: entry.task, startedAt: entry.at - entry.runMs, endedAt: entry.at };
    runs.set(entry.id, [...(runs.get(entry.id) ?? []), run]);
  }
  for (const [id, count] of tasks) {
    const own = runs.get(id) ?? [];
    const completed = new Set(own.map(({ task }) => task)).size;
    if (completed < count) faults.push(`${id}: ${count - completed} of ${count} tasks have no result`);
    if (own.length > completed) faults.push(`${id}: ${own.length - completed} extra results`);
    if (!gangs.has(id) || own.length === 0) continue;
    const [first, last] = [Math.min, Math.max].map((of) => of(...own.map(({ startedAt }) => startedAt)));
    const longest = Math.max(...own.map(({ startedAt, endedAt }) => endedAt - startedAt));
    if (last! - first! > Math.max(APART_MS, APART * longest))
      faults.push(`${id}: ranks of the gang started ${Math.round(last! - first!)} ms apart`);
  }
  return faults;
}

function countOf(tasks: object): number {
  return 'count' in tasks ? Number(tasks.count) : (Object.values(tasks)[0] as ArrayLike<unknown>).length;
}

/** A user starves if the median slowdown of its jobs is more than this many times that of all jobs. */
const STARVATION_RATIO = 5;

/** Returns users whose jobs take disproportionately long, relative to their longest task. */
export function starvedIn(recorded: readonly RecordedJob[]): string[] {
  const slowdowns = new Map<string, number[]>();
  for (const { job, runtimeSeconds } of recorded) {
    const user = job.user ?? 'unknown';
    const own = slowdowns.get(user) ?? [];
    slowdowns.set(user, own);
    own.push(runtimeSeconds === undefined ? Infinity : runtimeSeconds / Math.max(...job.durationsSeconds));
  }
  const of = (values: readonly number[]): number => percentile([...values], 0.5);
  const all = of([...slowdowns.values()].flat());
  return [...slowdowns].flatMap(([user, own]) =>
    of(own) > STARVATION_RATIO * all
      ? [
          `${user}: jobs take ${of(own).toFixed(1)} times their longest task, and ${all.toFixed(1)} for all users`,
        ]
      : [],
  );
}
