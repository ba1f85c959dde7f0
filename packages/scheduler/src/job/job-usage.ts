import {
  addUsage,
  amountOf,
  cpusOf,
  DAY_MS,
  dayOf,
  GPU,
  isOwnersEnd,
  type JobSpec,
  type Millis,
  NO_USAGE,
  type Outcome,
  type StageSpec,
  startFault,
  type TaskIndex,
  type UsageRow,
} from '@goshawk/core';
import type { Stage } from './batch.js';
import type { Dag } from './dag.js';
import type { Hold } from './hold.js';
import type { TaskTable } from './task-table.js';

/** Days for which usage is kept. */
const DAYS_MAX = 400;
/** Rows of one day that distinguish job names, and rows at all; further usage of the day is counted without names, or users. */
const NAMED_ROWS_MAX = 200;
const ROWS_MAX = 2_000;

const GIB = 2 ** 30;

export type MutableRow = { -readonly [F in keyof UsageRow]: UsageRow[F] };
export type UsageKey = Pick<UsageRow, 'user' | 'project' | 'name'>;

/** Sums of usage by day, user, project and name of the job. */
export class UsageTable {
  readonly #days = new Map<number, Map<string, MutableRow>>();

  /** The row in which this usage is counted. */
  rowOf(day: number, { user, project, name }: UsageKey): MutableRow {
    let rows = this.#days.get(day);
    if (rows === undefined) {
      rows = new Map();
      this.#days.set(day, rows);
    }
    const named = JSON.stringify([user, project, name]);
    if (rows.has(named) || rows.size < NAMED_ROWS_MAX)
      return getOrCreateRow(rows, named, { day, user, project, name });
    const nameless = JSON.stringify([user, project]);
    if (rows.has(nameless) || rows.size < ROWS_MAX)
      return getOrCreateRow(rows, nameless, { day, user, project });
    return getOrCreateRow(rows, '', { day });
  }

  add(row: UsageRow): void {
    addUsage(this.rowOf(row.day!, row), row);
  }

  rows(): Iterable<UsageRow> {
    return [...this.#days.values()].flatMap((rows) => [...rows.values()]);
  }

  get isEmpty(): boolean {
    return this.#days.size === 0;
  }

  clear(): void {
    this.#days.clear();
  }

  /** Drops days that are too old. */
  trim(today: number): void {
    for (const day of this.#days.keys()) if (isTooOld(day, today)) this.#days.delete(day);
  }
}

export function isTooOld(day: number, today: number): boolean {
  return day <= today - DAYS_MAX;
}

function getOrCreateRow(rows: Map<string, MutableRow>, key: string, about: Partial<UsageRow>): MutableRow {
  const known = rows.get(key);
  if (known !== undefined) return known;
  const row = { ...about, ...NO_USAGE };
  rows.set(key, row);
  return row;
}

/** The parts of a job that determine its usage. */
interface UsedJob {
  readonly spec: JobSpec;
  readonly project: string | undefined;
  readonly acceptedAt: Millis;
  readonly hold: Hold | undefined;
  readonly dag: Dag;
  readonly tasks: TaskTable;
  usage: readonly JobUsage[];
}

/** Usage of a job on one day. */
export interface JobUsage {
  readonly row: MutableRow;
  /** The row that also counts it, with other jobs; undefined while the job is read from its records. */
  total: MutableRow | undefined;
}

export function usageKeyOf({ spec: { user, name }, project }: UsedJob): UsageKey {
  return { user, project, name };
}

/**
 * Adds an attempt to the usage of its job: each day counts its part of the run, and the day of the end counts the attempt.
 *
 * @param wallOffsetMs wall clock minus the clock of `now`
 * @param total also counts it; undefined: not yet
 */
export function countAttempt(
  job: UsedJob,
  task: TaskIndex,
  outcome: Outcome,
  runMs: Millis,
  now: Millis,
  wallOffsetMs: Millis,
  total?: UsageTable,
): void {
  // Ended by the owner without a start.
  if (isOwnersEnd(outcome) && runMs === 0) return;
  const stage = job.dag.stageOf(task);
  const ranMs = Math.min(runMs, Math.max(0, now - job.acceptedAt));
  const endedAt = now + wallOffsetMs;
  const last = dayOf(endedAt);
  for (const day of daysOfRun(endedAt, ranMs)) {
    const { row, total: sum } = usageOn(job, day, total);
    const ms = msOnDay(day, endedAt, ranMs);
    addTime(row, stage.spec.demand, ms);
    if (sum !== undefined) addTime(sum, stage.spec.demand, ms);
    if (day < last) continue;
    // Tasks of open jobs are appended at times that are not recorded.
    const isFirst = job.tasks.executionsOf(task) === 1 && startFault(outcome) === undefined;
    const waitMs = isFirst && job.spec.openMs === undefined ? waitOf(job, stage, now - runMs) : undefined;
    for (const sums of sum === undefined ? [row] : [row, sum]) {
      sums.attempts++;
      sums[endKindOf(outcome)]++;
      if (waitMs === undefined) continue;
      sums.waits++;
      sums.waitMs += waitMs;
    }
  }
}

function waitOf(job: UsedJob, { releasedAt }: Stage, startedAt: Millis): Millis {
  return Math.max(0, startedAt - releasedAt - (job.hold?.heldMsBetween(releasedAt, startedAt) ?? 0));
}

function usageOn(job: UsedJob, day: number, total: UsageTable | undefined): JobUsage {
  const known = job.usage.find(({ row }) => row.day === day);
  if (known !== undefined) return known;
  const who = usageKeyOf(job);
  const usage: JobUsage = { row: { day, ...who, ...NO_USAGE }, total: total?.rowOf(day, who) };
  job.usage = [...job.usage, usage];
  return usage;
}

export function endKindOf({
  kind,
  errorCode,
}: Outcome): 'completed' | 'failed' | 'cancelled' | 'preempted' | 'lost' {
  if (kind === 'timeout') return 'failed';
  return kind === 'lost' && errorCode === 'preempted' ? 'preempted' : kind;
}

/** Adds requested resources × time. */
export function addTime(sums: MutableRow, demand: StageSpec['demand'], ms: Millis): void {
  const memory = amountOf(demand, 'memory');
  sums.runMs += ms;
  sums.cpuMs += cpusOf(demand) * ms;
  if (memory === 0) sums.memoryUnknownMs += ms;
  else sums.memoryMs += (memory / GIB) * ms;
  sums.gpuMs += amountOf(demand, GPU) * ms;
}

/** Returns the days of a run in order; of a very long one the last days. */
export function daysOfRun(endedAt: Millis, runMs: Millis): number[] {
  const last = dayOf(endedAt);
  const first = Math.max(dayOf(endedAt - runMs), last - DAYS_MAX);
  return Array.from({ length: Math.max(1, last - first + 1) }, (_, index) => first + index);
}

/** The part of a run on this day. */
export function msOnDay(day: number, endedAt: Millis, runMs: Millis): Millis {
  return Math.max(0, Math.min(endedAt, (day + 1) * DAY_MS) - Math.max(endedAt - runMs, day * DAY_MS));
}
