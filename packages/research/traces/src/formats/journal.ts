import {
  countTasks,
  givenFactsOf,
  type JobRecord,
  type JobSpec,
  type JobState,
  jsonExcess,
  LIMITS,
  type Priority,
  present,
  type StageSpec,
} from '@goshawk/core';
import { quote, WorkloadError } from '../errors.js';
import { jobOf, type TraceJob, type TraceStage } from '../job.js';
import { inBatches, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { readLineBatches } from './files.js';
import type { TraceFormat } from './trace-format.js';

/** A record, with the id of its job. */
export type JournalEntry = JobRecord & { readonly id: string };

/** A job that has run. */
export interface RecordedJob {
  /** Submitted when its tasks were allowed to start. */
  readonly job: TraceJob;
  /** Time from then to completion; undefined if it did not complete, or completed after a retry by its user. */
  readonly runtimeSeconds: number | undefined;
}

/** A job as read so far. */
interface JournaledJob {
  readonly at: number;
  readonly spec: JobSpec;
  /** When the user let its tasks start: neither on hold nor before its begin time. */
  readyAt: number;
  priority: Priority | undefined;
  isHeld: boolean;
  isRetried: boolean;
  /** Run time in ms of the attempt that completed, by task. */
  readonly runs: Map<number, number>;
  /** Number of tasks appended to those of the specification. */
  appended: number;
  ended: { readonly at: number; readonly state: JobState } | undefined;
}

/**
 * The output of `goshawk journal export`: the jobs of a scheduler as a workload. Several exports may be
 * concatenated, such as those of all schedulers of a cluster.
 */
export const journal = {
  name: 'journal',
  sample: 'journal.jsonl',
  aJob: 'no job of the journal has ended with a task that completed',
  endings: ['.journal.jsonl'],
  recognises: (firstLine) => /^\s*\{"id":"[^"]*","kind":"[a-z]+"/.test(firstLine),
  read: readJournal,
} as const satisfies TraceFormat;

/**
 * Reads jobs in order of submission, relative to the first one.
 *
 * @throws WorkloadError with file and line at the first invalid line
 */
async function* readJournal(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const records = new RecordedRuns();
  await readJournalExport(file, (entry) => records.note(entry), signal);
  yield* inBatches(records.jobs(tally).map(({ job }) => job));
}

/**
 * Reads the records of an export, in its order.
 *
 * @throws WorkloadError with file and line at the first invalid line
 */
export async function readJournalExport(
  file: string,
  read: (entry: JournalEntry) => void,
  signal?: AbortSignal,
): Promise<void> {
  let line = 0;
  for await (const lines of readLineBatches(file, signal)) {
    for (const text of lines) {
      line++;
      if (text.trim() !== '') read(entryOf(text, file, line));
    }
  }
}

/** Collects the jobs in journals from their records. */
export class RecordedRuns {
  readonly #jobs = new Map<string, JournaledJob>();

  note(entry: JournalEntry): void {
    const { id, kind, at } = entry;
    const job = this.#jobs.get(id);
    // The file may have been edited.
    if (kind === 'accepted' && entry.spec !== undefined) this.#jobs.set(id, newJob(at, entry.spec));
    else if (kind === 'attempt' && entry.outcome?.kind === 'completed')
      job?.runs.set(entry.task, entry.runMs);
    else if (kind === 'appended' && Array.isArray(entry.tasks)) {
      if (job !== undefined) job.appended += entry.tasks.length;
    } else if (kind === 'updated') update(job, entry);
    else if (kind === 'passed' && job !== undefined) job.readyAt = Math.max(job.readyAt, at);
    else if (kind === 'retried' && job !== undefined) job.isRetried = true;
    else if (kind === 'ended' && job !== undefined) job.ended = { at, state: entry.state };
  }

  /**
   * Returns ended jobs in the order in which they were allowed to start, relative to the first one.
   *
   * @param since only jobs accepted at or after this time, in ms since 1970
   */
  jobs(tally: Tally, since = Number.NEGATIVE_INFINITY): RecordedJob[] {
    const jobs = [...this.#jobs.values()]
      .filter(({ at }) => at >= since)
      .sort((a, b) => a.readyAt - b.readyAt || a.at - b.at);
    const begin = jobs[0]?.readyAt ?? 0;
    return jobs.flatMap((one) => {
      const job = ranJobOf(one, begin, tally);
      if (job === undefined) return [];
      const { ended, isRetried, readyAt } = one;
      const isComplete = ended?.state === 'completed' && !isRetried;
      return [{ job, runtimeSeconds: isComplete ? (ended.at - readyAt) / 1_000 : undefined }];
    });
  }
}

function newJob(at: number, spec: JobSpec): JournaledJob {
  const { begin, hold, priority } = spec;
  const delayMs = begin === undefined ? 0 : 'at' in begin ? begin.at - at : begin.afterMs;
  return {
    at,
    spec,
    readyAt: at + Math.max(0, delayMs),
    priority,
    isHeld: hold === true,
    isRetried: false,
    runs: new Map(),
    appended: 0,
    ended: undefined,
  };
}

/** Applies changes that the user made before any task completed; later ones delay only a part of the job. */
function update(
  job: JournaledJob | undefined,
  { at, held, beginAt, priority }: Extract<JournalEntry, { readonly kind: 'updated' }>,
): void {
  if (job === undefined || job.runs.size > 0) return;
  const isReleased = job.isHeld && !held;
  if (isReleased || beginAt !== undefined) job.readyAt = Math.max(at, beginAt ?? at);
  job.isHeld = held;
  job.priority = priority;
}

function entryOf(text: string, file: string, line: number): JournalEntry {
  const excess = jsonExcess(text);
  if (excess !== undefined)
    throw new WorkloadError(
      `not a journal record: ${excess}`,
      '`goshawk journal export FOLDER` prints them',
      {
        file,
        line,
      },
    );
  let entry: Partial<JournalEntry> | null = null;
  try {
    entry = JSON.parse(text) as Partial<JournalEntry> | null;
  } catch {
    // Reported below.
  }
  if (typeof entry?.id === 'string' && typeof entry.kind === 'string' && isTime(entry.at)) {
    const wrong = wrongIn(entry);
    if (wrong === undefined) return entry as JournalEntry;
    throw new WorkloadError(
      `the record has a wrong ${wrong}`,
      'export the journal again, or remove the line',
      {
        file,
        line,
      },
    );
  }
  throw new WorkloadError(
    `not a journal record: ${quote(text.trim())}`,
    '`goshawk journal export FOLDER` prints them',
    {
      file,
      line,
    },
  );
}

/** Returns the name of the first field with an invalid value; the file may have been edited. */
function wrongIn(entry: Partial<JournalEntry>): string | undefined {
  if (entry.kind === 'attempt') {
    if (!Number.isSafeInteger(entry.task) || entry.task! < 0) return 'task';
    return entry.outcome?.kind === 'completed' && !isTime(entry.runMs) ? 'runMs' : undefined;
  }
  if (entry.kind === 'updated' && !isTime(entry.beginAt ?? 0)) return 'beginAt';
  if (entry.kind !== 'accepted' || entry.spec === undefined) return undefined;
  const { stages, begin } = entry.spec as Partial<JobSpec>;
  if (!isTime({ at: 0, ...begin }.at) || !isTime({ afterMs: 0, ...begin }.afterMs)) return 'spec.begin';
  if (!Array.isArray(stages) || stages.length === 0) return 'spec.stages';
  const place = stages.findIndex((stage: Partial<StageSpec> | null) => !isStage(stage, stages.length));
  return place < 0 ? undefined : `spec.stages[${place}]`;
}

function isStage(stage: Partial<StageSpec> | null, stages: number): boolean {
  const { name, after, tasks, demand = {} } = stage ?? {};
  if (typeof demand !== 'object' || demand === null) return false;
  if (!Object.values(demand).every((amount) => Number.isFinite(amount) && amount >= 0)) return false;
  if (typeof name !== 'string' || !Array.isArray(after) || typeof tasks !== 'object' || tasks === null)
    return false;
  const isListed = 'each' in tasks ? Array.isArray(tasks.each) : 'sleepsMs' in tasks;
  if (!isListed && !('count' in tasks && Number.isSafeInteger(tasks.count))) return false;
  const count = countTasks(tasks);
  return count >= 1 && count <= LIMITS.tasksPerJobMax && after.every((each) => each >= 0 && each < stages);
}

function isTime(ms: unknown): ms is number {
  return typeof ms === 'number' && ms >= 0 && ms <= LIMITS.durationMaxMs;
}

function ranJobOf(
  { at, spec, readyAt, priority, runs, appended, ended }: JournaledJob,
  begin: number,
  tally: Tally,
): TraceJob | undefined {
  const leftOut = (code: string, what: string, count = 1) =>
    tally.add({ code, what: `${what}: omitted` }, count);
  if (ended === undefined) return void leftOut('jobs-not-ended', 'jobs that have not ended');
  const durations: number[] = [];
  const counts: number[] = [];
  let first = 0;
  for (const { tasks } of spec.stages) {
    // Appended tasks belong to the only stage.
    const count = countTasks(tasks) + appended;
    const before = durations.length;
    for (let task = first; task < first + count; task++) {
      const runMs = runs.get(task);
      if (runMs !== undefined) durations.push(runMs / 1_000);
    }
    counts.push(durations.length - before);
    first += count;
  }
  if (counts.includes(0))
    return void leftOut('jobs-nothing-completed', 'jobs with a stage in which no task completed');
  leftOut(
    'tasks-not-completed',
    'tasks that did not complete, in jobs that are read',
    first - durations.length,
  );
  const { name, user, logicalName, estimateMs, maxRunning, deadlineMs, weight, stages, prefer } = spec;
  const ofOnly = stages.length === 1 ? needsOf(stages[0]!) : {};
  return {
    ...jobOf((readyAt - begin) / 1_000, Float64Array.from(durations)),
    name,
    ...present({ user, logicalName }),
    ...(estimateMs === undefined ? {} : { estimateSeconds: estimateMs / 1_000 }),
    ...present({ maxRunning }),
    ...(deadlineMs === undefined
      ? {}
      : { deadlineSeconds: Math.max(1, deadlineMs - (readyAt - at)) / 1_000 }),
    ...givenFactsOf(spec),
    ...present({ prefer }),
    ...(priority === undefined || priority === 'normal' ? {} : { priority }),
    ...(weight === undefined || weight === 1 ? {} : { weight }),
    ...ofOnly,
    ...(stages.length === 1 ? {} : { stages: stages.map((stage, place) => stageOf(stage, counts[place]!)) }),
  };
}

function stageOf(stage: StageSpec, tasks: number): TraceStage {
  const { name, after, estimateMs } = stage;
  const estimate = estimateMs === undefined ? {} : { estimateSeconds: estimateMs / 1_000 };
  return { name, after, tasks, ...needsOf(stage), ...estimate };
}

/** An edited record may have no demand. */
function needsOf({
  demand,
  requires,
  gang,
  lend,
}: Partial<StageSpec>): Pick<TraceStage, 'demand' | 'require' | 'gang' | 'lend'> {
  const isEmpty = demand === undefined || Object.keys(demand).length === 0;
  return { ...(isEmpty ? {} : { demand }), ...present({ require: requires, gang, lend }) };
}
