import {
  addUsage,
  COMPLETED,
  dayOf,
  groupedUsage,
  isInUsage,
  type JobNumber,
  type JobRecordOf,
  type MessageOf,
  type Millis,
  type Outcome,
  type StageSpec,
  type TaskIndex,
  USAGE_BOOKS_MAX,
  USAGE_ROWS_MAX,
  type UsageBook,
  type UsageRow,
} from '@goshawk/core';
import type { Job } from '../job/job.js';
import {
  addAttempt,
  addTime,
  cpuUsedIn,
  daysOfRun,
  endKindOf,
  isTooOld,
  type JobUsage,
  msOnDay,
  type UsageKey,
  UsageTable,
  usageKeyOf,
} from '../job/job-usage.js';
import { possibleTimes } from '../job/outcomes.js';
import type { Ledger } from './ledger.js';

/** An attempt that the scheduler ended without a report of its worker. */
export interface UnreportedAttempt {
  readonly key: UsageKey;
  readonly demand: StageSpec['demand'];
  /** Wall clock. */
  readonly startedAt: Millis;
  /** The run time that was counted; undefined: the attempt was not counted. */
  readonly runMs: Millis | undefined;
}

/** The end of an attempt, as its worker reported it. */
export interface ReportedEnd {
  readonly outcome: Outcome;
  readonly runMs: Millis;
}

/**
 * Sums the resource usage of the jobs in this journal.
 *
 * The records of a job suffice to compute its usage. Before the first records are deleted, the usage of all jobs that
 * ended in the current period is recorded as a sum, and the next period begins. After a restart,
 * jobs that ended in a recorded period are not counted again.
 */
export class Accounting {
  readonly #ledger: Ledger;
  readonly #wallOffset: { readonly wallOffsetMs: Millis };
  readonly #tag: string;
  readonly #epoch: number;
  readonly #isDisabled: boolean;
  readonly #total = new UsageTable();
  /** Usage of jobs that have ended in the current period. */
  readonly #ended = new UsageTable();
  readonly #importedBooks = new Map<string, UsageBook>();
  #period = 0;
  /** Jobs that ended before this time ended in an earlier period. */
  #periodStartedAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(
    ledger: Ledger,
    config: {
      readonly wallOffsetMs: Millis;
      readonly tag: string;
      readonly epoch?: number | undefined;
      readonly countsUsage?: boolean | undefined;
    },
  ) {
    this.#ledger = ledger;
    this.#wallOffset = config;
    this.#tag = config.tag;
    this.#epoch = config.epoch ?? 0;
    this.#isDisabled = config.countsUsage === false;
  }

  /** The current attempt of the task has ended. */
  attemptEnded(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void {
    if (this.#isDisabled) return;
    addAttempt(job, { task, outcome, runMs }, now, this.#wallOffset.wallOffsetMs, this.#total);
  }

  /** The job has ended. @returns the period to record with its end */
  jobEnded(job: Job): number {
    if (this.#ledger.hasJournal) for (const { row } of job.usage) this.#ended.add(row);
    job.usage = [];
    return this.#period;
  }

  /** Deletes the records of a job, and records its usage first if necessary. */
  recordsDeleted(job: JobNumber, now: Millis, endedAt: Millis): void {
    if (endedAt >= this.#periodStartedAt) this.#closePeriod(now);
    this.#ledger.forgotten(job, now);
  }

  #closePeriod(now: Millis): void {
    this.#periodStartedAt = now;
    this.#dropOldDays(now);
    if (this.#ended.isEmpty) return;
    this.#ledger.usage({ period: this.#period++, rows: [...this.#ended.rows()] }, now);
    this.#ended.clear();
  }

  /** Drops days that are too old, here and in imported books. */
  #dropOldDays(now: Millis): void {
    const today = dayOf(now + this.#wallOffset.wallOffsetMs);
    this.#total.trim(today);
    for (const [tag, book] of this.#importedBooks) {
      const rows = book.rows.filter(({ day }) => !isTooOld(day!, today));
      if (rows.length === 0) this.#importedBooks.delete(tag);
      else if (rows.length < book.rows.length) this.#importedBooks.set(tag, { ...book, rows });
    }
  }

  /**
   * Replaces the estimated usage of an attempt with the usage that its worker reports.
   *
   * @param reported undefined: the attempt never started
   */
  correct(
    { key, demand, startedAt, runMs }: UnreportedAttempt,
    reported: ReportedEnd | undefined,
    now: Millis,
  ): void {
    const sinceMs = now + this.#wallOffset.wallOffsetMs - startedAt;
    const end = reported && possibleTimes(reported, sinceMs);
    const actualMs = end?.runMs ?? 0;
    if (actualMs === (runMs ?? 0) && end?.outcome.cpuMs === undefined) return;
    const book = new UsageTable();
    const add = (runMs: Millis, sign: 1 | -1, outcome: Outcome): void => {
      const endedAt = startedAt + runMs;
      for (const day of daysOfRun(endedAt, runMs)) {
        const ms = msOnDay(day, endedAt, runMs);
        addTime(book.rowOf(day, key), demand, sign * ms, cpuUsedIn(ms, outcome, runMs));
      }
    };
    add(actualMs, 1, end?.outcome ?? COMPLETED);
    if (runMs !== undefined) add(runMs, -1, COMPLETED);
    else if (end !== undefined) {
      const row = book.rowOf(dayOf(startedAt + actualMs), key);
      row.attempts++;
      row[endKindOf(end.outcome)]++;
    }
    const rows = [...book.rows()];
    for (const row of rows) this.#total.add(row);
    this.#ledger.usage({ rows }, now);
  }

  /** Describes the current attempt, to correct its counted run time later. */
  unreported(job: Job, task: TaskIndex, runMs: Millis, now: Millis): UnreportedAttempt {
    const startedAt = now - runMs + this.#wallOffset.wallOffsetMs;
    return { key: usageKeyOf(job), demand: job.dag.stageOf(task).spec.demand, startedAt, runMs };
  }

  // ---- loading after a restart

  /** Loads a usage record of an earlier incarnation. */
  loadRecord({ period, rows, of }: JobRecordOf<'usage'>): void {
    if (of !== undefined) return void this.#importedBooks.set(of.tag, { ...of, rows });
    for (const row of rows) this.#total.add(row);
    if (period !== undefined) this.#period = Math.max(this.#period, period + 1);
  }

  /** Loads the usage of a job that has not ended. */
  loadActive(usage: readonly JobUsage[]): void {
    for (const daily of usage) {
      daily.total = this.#total.rowOf(daily.row.day!, daily.row);
      addUsage(daily.total, daily.row);
    }
  }

  /** Loads the usage of an ended job, unless the sum of its period was recorded. */
  loadEnded(usage: readonly JobUsage[], period = 0): void {
    if (period < this.#period) return;
    for (const { row } of usage) {
      this.#total.add(row);
      this.#ended.add(row);
    }
  }

  // ---- journals that are discarded after a takeover

  /** The usage of this journal, and of the imported ones. */
  books(): UsageBook[] {
    return [this.#bookOf(groupedUsage(this.#total.rows(), ALL_COLUMNS)), ...this.#importedBooks.values()];
  }

  /** Imports the usage of journals that will be discarded. @param done called when it is durable */
  importBooks(books: readonly UsageBook[], done: () => void, now: Millis): void {
    for (const book of books) {
      const { tag, epoch, rows } = book;
      const known = this.#importedBooks.get(tag);
      if (rows.length === 0 || tag === this.#tag || (known !== undefined && known.epoch > epoch)) continue;
      this.#importedBooks.set(tag, book);
      this.#ledger.usage({ rows, of: { tag, epoch } }, now);
    }
    this.#ledger.whenDurable(done, now);
  }

  /** @param onlyOf the only user whose usage is reported; undefined: any */
  report({ by, ...filter }: MessageOf<'readUsage'>, onlyOf: string | undefined, now: Millis): UsageBook[] {
    this.#dropOldDays(now);
    const reported = ({ rows, ...book }: { tag: string; epoch: number; rows: Iterable<UsageRow> }) => ({
      ...book,
      rows: groupedUsage(matchingRows(rows, filter, onlyOf), by),
    });
    const own = { tag: this.#tag, epoch: this.#epoch, rows: this.#total.rows() };
    const all = [own, ...this.#importedBooks.values()]
      .map(reported)
      .filter(({ rows }) => rows.length > 0)
      .slice(0, USAGE_BOOKS_MAX);
    // All books together must fit in one message.
    const rowsMax = Math.max(1, Math.floor(USAGE_ROWS_MAX / Math.max(1, all.length)));
    return all.map((book) => limitRows(book, rowsMax));
  }

  #bookOf(rows: readonly UsageRow[]): UsageBook {
    return { tag: this.#tag, epoch: this.#epoch, rows };
  }
}

const ALL_COLUMNS = ['day', 'user', 'project', 'name'] as const;

function* matchingRows(
  rows: Iterable<UsageRow>,
  filter: Parameters<typeof isInUsage>[1],
  onlyOf: string | undefined,
): Iterable<UsageRow> {
  for (const row of rows)
    if (isInUsage(row, filter) && (onlyOf === undefined || row.user === onlyOf)) yield row;
}

/** Keeps the rows with the most CPU time, up to the limit, and sums the others in one row without names. */
function limitRows(book: UsageBook, rowsMax: number): UsageBook {
  if (book.rows.length <= rowsMax) return book;
  const rows = book.rows.toSorted((one, other) => other.cpuMs - one.cpuMs);
  const rest = groupedUsage(rows.splice(rowsMax), []);
  return { ...book, rows: [...rows, ...rest] };
}
