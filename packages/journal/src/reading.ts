import type { JobRecord } from '@goshawk/core';
import { JournalError } from './errors.js';
import { BadRecordError, decodeRecord } from './record-codec.js';

/** Makes the error for a record that cannot be read. */
export type Damage = (job: number, cause: BadRecordError) => Error;

/** @throws what `damage` makes of a record that is none, or of another job than it was filed under */
export function decodeOf(bytes: Buffer, job: number, damage: Damage): JobRecord {
  try {
    const record = decodeRecord(bytes);
    if (record.job !== job) throw new BadRecordError(`it is of job ${record.job}`);
    return record;
  } catch (error) {
    if (!(error instanceof BadRecordError)) throw error;
    throw damage(job, error);
  }
}

export function damagedRecord(where: string): Damage {
  return (job, cause) =>
    new JournalError(
      'journal-damaged',
      `the journal in ${where} is damaged: a record of job ${job} cannot be read: ${cause.message}`,
      '`goshawk journal verify` lists what is damaged, `goshawk journal export` saves the rest',
      { cause },
    );
}
