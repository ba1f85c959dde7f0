import type { JobNumber, JobRecord } from '@goshawk/core';
import { BadRecordError, decodeRecord } from './record-codec.js';

/** A record that cannot be read, or should not be where it is. */
export interface Damaged {
  readonly job: JobNumber;
  /** Which of the job's records, from 0. */
  readonly place: number;
  readonly problem: string;
}

/** A record's bytes, the job that they were filed under, undefined when that cannot be read, and where. */
export type Filed = readonly [job: number | undefined, bytes: Buffer, place: number];

/**
 * The records of jobs that begin with their acceptance, each in its place. What is damaged is left out, and told of:
 * it costs a record, or the job whose acceptance it was, and no other.
 */
export function* soundRecords(
  filed: Iterable<Filed>,
  onDamage: (damaged: Damaged) => void,
): Iterable<readonly [place: number, record: JobRecord]> {
  let current: number | undefined;
  let place = 0;
  let before: JobRecord | undefined;
  for (const [job, bytes, at] of filed) {
    if (job === undefined) {
      onDamage({ job: 0, place: 0, problem: 'it is filed under no job' });
      continue;
    }
    if (job === current) place++;
    else [current, place, before] = [job, 0, undefined];
    try {
      const record = decodeFiled(bytes, job);
      const problem = misplaced(record, before);
      if (problem !== undefined) throw new BadRecordError(problem);
      before = record;
      yield [at, record];
    } catch (error) {
      if (!(error instanceof BadRecordError)) throw error;
      onDamage({ job, place, problem: error.message });
    }
  }
}

/** @throws BadRecordError for one that is none, or of another job than it was filed under */
export function decodeFiled(bytes: Buffer, job: JobNumber): JobRecord {
  const record = decodeRecord(bytes);
  if (record.job !== job) throw new BadRecordError(`it is of job ${record.job}`);
  return record;
}

function misplaced(record: JobRecord, before: JobRecord | undefined): string | undefined {
  if (record.kind === 'schedulers') return undefined;
  if (before === undefined) return record.kind === 'accepted' ? undefined : `it begins with "${record.kind}"`;
  if (record.kind === 'accepted') return 'it was accepted twice';
  const isOver = before.kind === 'ended' && record.kind !== 'retried';
  return isOver ? `"${record.kind}" follows its end` : undefined;
}

/** The same for who goes on without it. */
export function readAgain(bytes: Buffer | undefined, job: JobNumber): JobRecord | undefined {
  if (bytes === undefined) return undefined;
  try {
    return decodeFiled(bytes, job);
  } catch (error) {
    if (error instanceof BadRecordError) return undefined;
    throw error;
  }
}
