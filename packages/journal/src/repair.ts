import { linkSync } from 'node:fs';
import { join } from 'node:path';
import { type JobNumber, type JobRecord, LIMITS } from '@goshawk/core';
import { JournalError } from './errors.js';
import { claimFolder, placeOf } from './folder-claim.js';
import { type Identity, newIdentity } from './identity.js';
import { checkFile, FILE, hasJournal, openJournalFile, type Salvage, salvage } from './journal-file.js';
import { DamagedFileError } from './lmdb-file.js';
import { LmdbStore, makeJournalFolder, putDraftInPlace } from './lmdb-store.js';

interface RepairOptions {
  readonly folder: string;
  /** Draws the prefix of job ids, if the journal's own is lost. */
  readonly newTag: () => string;
  /** Version of Goshawk. */
  readonly version: string;
}

interface Repaired extends Salvage {
  /** Path of the damaged file; undefined if no repair was needed. */
  readonly kept: string | undefined;
  readonly tag: string;
}

/**
 * Creates a new journal from the readable records of a damaged one, and keeps the damaged file beside it.
 *
 * @throws JournalError if a process owns the journal, or nothing is readable
 */
export async function repairJournal({ folder, newTag, version }: RepairOptions): Promise<Repaired> {
  try {
    openJournalFile(folder).close();
  } catch (error) {
    const { code, cause } = error as JournalError;
    throw code === 'journal-damaged' ? beyondRepair(folder, (cause as Error).message) : error;
  }
  const claim = await claimFolder(folder);
  try {
    const file = openJournalFile(folder);
    let left: Salvage;
    let problem: string | undefined;
    try {
      left = salvage(file, folder);
      problem = left.problems[0] ?? problemOf(() => checkFile(file));
    } finally {
      file.close();
    }
    const problems = problem === undefined || left.problems.length > 0 ? left.problems : [problem];
    const identity = left.identity ?? {
      ...succeeding(newIdentity(newTag(), version), left.records),
      place: placeOf(folder),
    };
    const { tag } = identity;
    if (problem === undefined && left.damaged.length === 0)
      return { ...left, problems, tag, kept: undefined };
    if (left.identity === undefined && left.records.length === 0) throw beyondRepair(folder, problem!);
    await LmdbStore.draft(folder, withNumbersOf(identity, left), left.records);
    return { ...left, problems, tag, kept: replace(folder) };
  } finally {
    await claim.release();
  }
}

/**
 * Creates a journal from records, as `export` prints them, in a folder that has none.
 *
 * @param records of each job from its acceptance on
 * @throws JournalError if there is a journal
 */
export async function importJournal(
  folder: string,
  { tag, version }: { readonly tag: string; readonly version: string },
  records: readonly JobRecord[],
): Promise<void> {
  makeJournalFolder(folder);
  const claim = await claimFolder(folder);
  try {
    if (hasJournal(folder))
      throw new JournalError(
        'journal-folder',
        `there is already a journal in ${folder}`,
        'use an empty folder',
      );
    await LmdbStore.draft(folder, succeeding(newIdentity(tag, version), records), records);
    putDraftInPlace(folder);
  } finally {
    await claim.release();
  }
}

function beyondRepair(folder: string, problem: string): JournalError {
  return new JournalError(
    'journal-damaged',
    `cannot read anything from the journal in ${folder}: ${problem}`,
    `move ${FILE} away: the scheduler then starts a new one, or \`goshawk journal import\` restores an export`,
  );
}

/**
 * Stands for an unknown former owner. A journal without former owners counts as new, so its jobs would not be
 * resumed.
 */
const UNKNOWN_OWNER = 'tcp://127.0.0.1:1!s.unknown/0';

/** Skips numbers that may have been used after the last record. */
export function succeeding(identity: Identity, records: readonly JobRecord[]): Identity {
  return { ...identity, formers: [UNKNOWN_OWNER], lastJob: highest(records) + LIMITS.unrecordedJobsMax };
}

/** The numbers of jobs whose records are all lost must not be reused. */
function withNumbersOf(identity: Identity, { damaged, records }: Salvage): Identity {
  const known = Math.max(identity.lastJob, highest(records));
  // The number of a damaged record may be damaged itself.
  const lost = Math.min(highest(damaged), known + LIMITS.unrecordedJobsMax);
  return { ...identity, lastJob: Math.max(known, lost) };
}

function highest(of: readonly { readonly job: JobNumber }[]): JobNumber {
  return of.reduce((most, { job }) => Math.max(most, job), 0);
}

/** @returns the path of the old file */
function replace(folder: string): string {
  const kept = join(folder, `${FILE}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  // A second link to it: the journal has a file at its path at every moment.
  linkSync(join(folder, FILE), kept);
  putDraftInPlace(folder);
  return kept;
}

function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof DamagedFileError) return error.message;
    throw error;
  }
}
