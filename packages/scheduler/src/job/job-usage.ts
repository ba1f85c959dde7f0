import {
  addUsage,
  amountOf,
  cpusOf,
  DAY_MS,
  dayOf,
  GPU,
  isEndedByOwner,
  type JobSpec,
  KILL_OUTCOMES,
  type Millis,
  NO_USAGE,
  type Outcome,
  type StageSpec,
  startFault,
  type UsageRow,
} from '@goshawk/core';
import type { AttemptEnd } from './attempt-history.js';
import type { Stage } from './batch.js';
import type { Dag } from './dag.js';
import type { Hold } from './hold.js';
import type { TaskTable } from './task-table.js';

/** Number of days for which usage is kept. */
const DAYS_MAX = 400;
/** Maximum number of rows of one day with job names. Further usage is counted without names. */
const NAMED_ROWS_MAX = 200;
/** Maximum number of rows of one day. Further usage is counted in one row without users. */
const ROWS_MAX = 2_000;

const GIB = 2 ** 30;

type MutableRow = { -readonly [F in keyof UsageRow]: UsageRow[F] };
export type UsageKey = Pick<UsageRow, 'user' | 'project' | 'name'>;

/** Usage summed by day, user, project and job name. */
export class UsageTable {
  readonly #days = new Map<number, Map<string, MutableRow>>();

  /** Returns the row that counts this usage. Creates it if necessary. */
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

/** Whether usage of this day is no longer kept. */
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

/** The fields of a job that determine its usage. */
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
  /** The row of the scheduler's totals that also counts it; undefined while the job is loaded from its records. */
  total: MutableRow | undefined;
}

export function usageKeyOf({ spec: { user, name }, project }: UsedJob): UsageKey {
  return { user, project, name };
}

/**
 * Adds an attempt to the usage of its job. Its run time is split by day; the attempt counts on the day on which it ended.
 *
 * @param wallOffsetMs wall clock minus the clock of `now`
 * @param total the scheduler's totals, which also count the attempt; undefined: they are updated later
 */
export function addAttempt(
  job: UsedJob,
  { task, outcome, runMs }: Omit<AttemptEnd, 'position'>,
  now: Millis,
  wallOffsetMs: Millis,
  total?: UsageTable,
): void {
  // The owner ended the task before it started, or its worker could not start it, and it moves to another one.
  if ((isEndedByOwner(outcome) && runMs === 0) || startFault(outcome) !== undefined) return;
  const stage = job.dag.stageOf(task);
  const ranMs = Math.min(runMs, Math.max(0, now - job.acceptedAt));
  const endedAt = now + wallOffsetMs;
  const lastDay = dayOf(endedAt);
  for (const day of daysOfRun(endedAt, ranMs)) {
    const { row, total: sum } = usageOn(job, day, total);
    const ms = msOnDay(day, endedAt, ranMs);
    addTime(row, stage.spec.demand, ms, cpuUsedIn(ms, outcome, ranMs));
    if (sum !== undefined) addTime(sum, stage.spec.demand, ms, cpuUsedIn(ms, outcome, ranMs));
    if (day < lastDay) continue;
    // The waiting time of an open job's task is unknown, because the time of its append is not recorded.
    const isFirst = job.tasks.executionsOf(task) === 1;
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

/** The column of a usage row that counts this outcome. */
export function endKindOf({
  kind,
  errorCode,
}: Outcome): 'completed' | 'failed' | 'cancelled' | 'preempted' | 'lost' {
  if (kind === 'timeout') return 'failed';
  // The counts of a job do not separate preempted attempts from lost ones.
  return errorCode === KILL_OUTCOMES.preempted.errorCode ? 'preempted' : kind;
}

/** The part of a run's measured CPU time that counts for `ms` of its run time. */
export function cpuUsedIn(ms: Millis, { cpuMs }: Outcome, runMs: Millis): Millis | undefined {
  return cpuMs === undefined || runMs === 0 ? cpuMs : cpuMs * (ms / runMs);
}

/**
 * Adds the requested resources multiplied by the run time.
 *
 * @param cpuUsedMs measured CPU time; undefined: unknown
 */
export function addTime(
  sums: MutableRow,
  demand: StageSpec['demand'],
  ms: Millis,
  cpuUsedMs: Millis | undefined,
): void {
  const memory = amountOf(demand, 'memory');
  sums.runMs += ms;
  sums.cpuMs += cpusOf(demand) * ms;
  if (cpuUsedMs === undefined) sums.cpuUnknownMs += ms;
  else sums.cpuUsedMs += cpuUsedMs;
  if (memory === 0) sums.memoryUnknownMs += ms;
  else sums.memoryMs += (memory / GIB) * ms;
  sums.gpuMs += amountOf(demand, GPU) * ms;
}

/** Returns the days of a run in order; only the last ones of a very long run. */
export function daysOfRun(endedAt: Millis, runMs: Millis): number[] {
  const last = dayOf(endedAt);
  const first = Math.max(dayOf(endedAt - runMs), last - DAYS_MAX);
  return Array.from({ length: Math.max(1, last - first + 1) }, (_, index) => first + index);
}

/** Run time that falls on this day. */
export function msOnDay(day: number, endedAt: Millis, runMs: Millis): Millis {
  return Math.max(0, Math.min(endedAt, (day + 1) * DAY_MS) - Math.max(endedAt - runMs, day * DAY_MS));
}
