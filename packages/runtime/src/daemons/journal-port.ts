import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { Address, JournalState, Millis, OutputStore } from '@goshawk/core';
import type { Journal, Lineage, PostgresJournals, SharedJournal } from '@goshawk/journal';
import type { Inheritance, Scheduler, SchedulerEnvironment } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';
import type { Enter } from '../driver/index.js';

/** Maximum number of skipped records to log; `goshawk journal verify` lists all. */
const SKIPPED_LOGGED_MAX = 20;

/**
 * Location of the jobs: in a folder on a local disk, for this scheduler alone, or in `postgres://…`, shared with
 * others.
 */
export type JournalLocation = (
  | { readonly folder: string }
  | { readonly url: string; readonly copyFolder?: string | undefined }
) & {
  /** Goshawk version, recorded for readers of the journal. */
  readonly version: string;
};

/** Time in ms for writing one group of records after which the disk counts as stalled. */
const STALLED_MS = 5_000;

/** Maximum number of job numbers skipped at a start: small enough for 9 million starts. */
const SKIPPED_MAX = 1_000_000_000;

/** Letters and digits without those that look alike, such as 0 and o. */
const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz';
const TAG_LENGTH = 5;

/** Returns a new prefix of job ids. */
export function newTag(): string {
  return Array.from({ length: TAG_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}

/** @throws JournalError if the folder cannot be locked or its content cannot be read */
export async function openInFolder(folder: string, version: string, logger: Logger): Promise<Journal> {
  // Loaded on use: most processes of a cluster have no journal.
  const { openLmdbJournal } = await import('@goshawk/journal');
  const warn = (message: string): void => logger.warn({ folder }, message);
  const journal = await openLmdbJournal({ folder, version, newTag, warn });
  const { fileBytes } = journal.metrics();
  logger.info({ folder, tag: journal.tag, fileBytes }, 'the journal is open');
  return journal;
}

/** @throws JournalError if PostgreSQL cannot be reached or its schema has another version */
export async function openShared(
  place: Extract<JournalLocation, { readonly url: string }>,
  name: string,
  logger: Logger,
): Promise<PostgresJournals> {
  const { inPostgres } = await import('@goshawk/journal');
  const { PostgresJournals, parseJournalUrl, weakness } = await inPostgres();
  const journals = await PostgresJournals.open({ ...place, name, newTag });
  const { promise } = journals;
  logger.info({ journal: parseJournalUrl(place.url).shown, ...promise }, 'the journals are in PostgreSQL');
  const weak = weakness(promise);
  if (weak !== undefined) logger.warn({}, weak);
  return journals;
}

/** The output of a journal's jobs. */
export interface JournalOutput extends OutputStore {
  /** Set once, before the first output. Called when more output is stored, or given up. */
  onSettled: () => void;
  /** Writes what is pending. */
  close(): Promise<void>;
}

/** Opens the task output beside a journal; undefined: it cannot be stored, which is logged. */
export async function openOutputIn(folder: string, logger: Logger): Promise<JournalOutput | undefined> {
  const { OutputFolder } = await import('@goshawk/journal');
  const path = join(folder, 'output');
  try {
    return new OutputFolder(path, { problem: outputProblemLog(logger) });
  } catch (error) {
    logger.error({ err: error }, `task output is kept in memory only: cannot use ${path}`);
    return undefined;
  }
}

/** Opens the task output of a journal in a database, which the journal closes. */
export function sharedOutput({ output }: SharedJournal, logger: Logger): JournalOutput {
  output.problem = outputProblemLog(logger);
  return output;
}

function outputProblemLog(logger: Logger): (problem: string | undefined) => void {
  return (problem) => {
    if (problem === undefined) logger.info({}, 'task output is stored again');
    else
      logger.error(
        {},
        `task output is not stored: ${problem}; jobs continue, and their output is in memory only`,
      );
  };
}

/** Connects a scheduler to its journal: forwards records, and reports what is durable. */
export class JournalPort<J extends Journal = Journal> {
  readonly journal: J;
  readonly output: JournalOutput | undefined;
  readonly #logger: Logger;
  /**
   * Number of job ids to skip. A folder may be restored to an earlier state without a trace; random skips make it
   * unlikely that ids are reused.
   */
  readonly #skipped = randomInt(SKIPPED_MAX);

  constructor(journal: J, logger: Logger, output?: JournalOutput) {
    this.journal = journal;
    this.output = output;
    this.#logger = logger;
  }

  /** Returns the records of an earlier owner; empty for a new journal. May be read once. */
  inheritance(addressNamed: (name: string) => Address, now: Millis): Inheritance | undefined {
    const { previousIncarnations, lastJob } = this.journal;
    const entries = this.#entries();
    if (previousIncarnations.length > 0)
      return {
        entries,
        now,
        lastJob: lastJob + this.#skipped,
        previousIncarnations: previousIncarnations.map(addressNamed),
      };
    // The journal is empty, but it must be read before the first write.
    for (const _ of entries);
    return undefined;
  }

  /** Yields the readable records, and logs the damaged ones. */
  *#entries(): Inheritance['entries'] {
    let leftOut = 0;
    const entries = this.journal.entries(({ job, place, problem }) => {
      if (++leftOut > SKIPPED_LOGGED_MAX) return;
      this.#logger.error(
        { job: `${this.journal.tag}-${job}`, record: place },
        `a record is skipped: ${problem}`,
      );
    });
    yield* entries;
    if (leftOut === 0) return;
    this.#logger.error({ leftOut }, 'records were skipped: `goshawk journal verify` lists damaged ones');
  }

  /** Where the journal comes from; undefined: it was never copied. */
  get lineage(): Lineage | undefined {
    const { lineage } = this.journal;
    return lineage.moves === 0 && lineage.copyOf === undefined ? undefined : lineage;
  }

  get effects(): Pick<
    SchedulerEnvironment,
    'record' | 'readRecord' | 'readJobRecords' | 'admitted' | 'outputStore'
  > {
    const { readRecord, readJobRecords } = this.journal;
    return {
      record: (record) => this.journal.append(record),
      admitted: () => {
        if (this.journal.lineage.copyOf === undefined) return;
        this.journal.admitted();
        this.#logger.warn(
          {},
          'this copy of a data folder continues its jobs: the original must not start again',
        );
      },
      ...(readRecord && { readRecord }),
      ...(readJobRecords && { readJobRecords }),
      outputStore: this.output,
    };
  }

  /** Messages for `/readyz` while writing is impossible. */
  get notReady(): readonly string[] {
    const { state, unwrittenMs } = this.journal;
    if (state.kind !== 'open') return [`${state.message}: no new jobs are accepted`];
    if (unwrittenMs < STALLED_MS) return [];
    const seconds = Math.floor(unwrittenMs / 1_000);
    return [`the journal’s disk has not answered for ${seconds} s: submissions and reports wait for it`];
  }

  /** Claims the jobs for this scheduler. */
  begin(self: string): Promise<void> {
    return this.journal.begin(self, this.#skipped);
  }

  /** @param onFailure called when the journal accepts no more records, to end the process */
  serve(enter: Enter<Scheduler>, onFailure: (error: Error) => void): void {
    const changed = (state: JournalState): void => {
      enter(`journal ${state.kind}`, (scheduler, now) => scheduler.journalChanged(state, now));
      switch (state.kind) {
        case 'open':
          return this.#logger.info({}, 'the journal accepts new jobs again');
        case 'away':
          return this.#logger.error({}, `no new jobs are accepted: ${state.message}; accepted jobs continue`);
        case 'full':
          return this.#logger.error({}, `no new jobs are accepted: ${state.message}`);
        case 'stopped':
          return this.#logger.error(
            {},
            `${state.message}; replies that need durability wait, and workers keep their reports`,
          );
        case 'failed':
          if (state.takenOver) {
            this.#logger.warn({}, `${state.message}: this scheduler exits`);
            return onFailure(new Error(state.message));
          }
          this.#logger.fatal({}, `the journal cannot be written: ${state.message}; this scheduler exits`);
          return onFailure(new Error(`the journal cannot be written: ${state.message}`));
      }
    };
    if (this.output !== undefined)
      this.output.onSettled = () => enter('output', (scheduler) => scheduler.outputSettled());
    this.journal.listen({
      recorded: (count) => enter(`recorded ${count}`, (scheduler, now) => scheduler.recorded(count, now)),
      keyTaken: (job, by) =>
        enter(`the key of ${job} is already in use`, (scheduler) => scheduler.keyTaken(job, by)),
      stateChanged: changed,
    });
    if (this.journal.state.kind !== 'open') changed(this.journal.state);
  }
}
