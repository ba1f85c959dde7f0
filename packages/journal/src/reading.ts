import type { JobNumber, JobRecord } from '@goshawk/core';
import { BadRecordError, decodeHead, decodeRecord, type RecordHead } from './record-codec.js';

/** A record that is unreadable or misplaced. */
export interface Damaged {
  readonly job: JobNumber;
  /** Index of the record within its job, from 0. */
  readonly place: number;
  readonly problem: string;
}

/** A record's bytes, the job that they were filed under (undefined if unreadable), and the place. */
export type Filed = readonly [job: number | undefined, bytes: Buffer, place: number];

/**
 * Yields sound records with their places. Skips and reports damaged ones. If the acceptance of a job is damaged, all
 * of its records are skipped.
 */
export function* soundRecords(
  filed: Iterable<Filed>,
  onDamage: (damaged: Damaged) => void,
): Iterable<readonly [place: number, record: JobRecord]> {
  for (const [place, record] of soundWithBytes(filed, onDamage)) yield [place, record];
}

export function soundWithBytes(
  filed: Iterable<Filed>,
  onDamage: (damaged: Damaged) => void,
): Iterable<readonly [place: number, record: JobRecord, bytes: Buffer]> {
  return sound(filed, onDamage, decodeRecord);
}

/** Like `soundRecords`, but yields heads with the bytes of their records, and does not decode large records. */
export function soundHeads(
  filed: Iterable<Filed>,
  onDamage: (damaged: Damaged) => void,
): Iterable<readonly [place: number, head: RecordHead, bytes: Buffer]> {
  return sound(filed, onDamage, decodeHead);
}

function* sound<Record extends RecordHead>(
  filed: Iterable<Filed>,
  onDamage: (damaged: Damaged) => void,
  decode: (bytes: Buffer) => Record,
): Iterable<readonly [place: number, record: Record, bytes: Buffer]> {
  let current: number | undefined;
  let place = 0;
  let before: RecordHead | undefined;
  for (const [job, bytes, at] of filed) {
    if (job === undefined) {
      onDamage({ job: 0, place: 0, problem: 'it belongs to no job' });
      continue;
    }
    if (job === current) place++;
    else [current, place, before] = [job, 0, undefined];
    try {
      const record = ofJob(decode(bytes), job);
      const problem = misplaced(record, before);
      if (problem !== undefined) throw new BadRecordError(problem);
      if (record.kind !== 'notified') before = record;
      yield [at, record, bytes];
    } catch (error) {
      if (!(error instanceof BadRecordError)) throw error;
      onDamage({ job, place, problem: error.message });
    }
  }
}

function ofJob<Record extends RecordHead>(record: Record, job: JobNumber): Record {
  if (record.job !== job) throw new BadRecordError(`it belongs to job ${record.job}`);
  return record;
}

function misplaced(record: RecordHead, before: RecordHead | undefined): string | undefined {
  if (record.kind === 'schedulers' || record.kind === 'usage') return undefined;
  if (before === undefined) return record.kind === 'accepted' ? undefined : `it begins with "${record.kind}"`;
  if (record.kind === 'accepted') return 'it was accepted twice';
  const isOver = before.kind === 'ended' && record.kind !== 'retried' && record.kind !== 'notified';
  return isOver ? `"${record.kind}" follows its end` : undefined;
}

/** Decodes a record of the job; undefined if it is damaged, missing, or of another job. */
export function readAgain(bytes: Buffer | undefined, job: JobNumber): JobRecord | undefined {
  if (bytes === undefined) return undefined;
  try {
    return ofJob(decodeRecord(bytes), job);
  } catch (error) {
    if (error instanceof BadRecordError) return undefined;
    throw error;
  }
}
