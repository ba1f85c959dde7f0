import type { JobRecord } from '@goshawk/core';
import { JournalError } from './errors.js';
import { BadRecordError, decodeRecord } from './record-codec.js';

/** @throws BadRecordError for one that is none, or of another job than it was filed under */
export function decodeFiled(bytes: Buffer, job: number): JobRecord {
  const record = decodeRecord(bytes);
  if (record.job !== job) throw new BadRecordError(`it is of job ${record.job}`);
  return record;
}

/**
 * The same for who cannot go on without it.
 *
 * @param where the journal is
 * @throws JournalError `journal-damaged`
 */
export function decodeOf(bytes: Buffer, job: number, where: string): JobRecord {
  try {
    return decodeFiled(bytes, job);
  } catch (cause) {
    if (!(cause instanceof BadRecordError)) throw cause;
    throw new JournalError(
      'journal-damaged',
      `the journal in ${where} is damaged: a record of job ${job} cannot be read: ${cause.message}`,
      '`goshawk journal verify` lists what is damaged, `goshawk journal export` saves the rest',
      { cause },
    );
  }
}

/** The same for who goes on without it. */
export function readAgain(bytes: Buffer | undefined, job: number): JobRecord | undefined {
  if (bytes === undefined) return undefined;
  try {
    return decodeFiled(bytes, job);
  } catch (error) {
    if (error instanceof BadRecordError) return undefined;
    throw error;
  }
}
