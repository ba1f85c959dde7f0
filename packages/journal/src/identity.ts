import { LIMITS } from '@goshawk/core';
import { JournalError } from './errors.js';
import { FORMAT } from './record-codec.js';

/** Metadata of a journal. */
export interface Identity {
  readonly format: number;
  readonly tag: string;
  /** Version of Goshawk that last wrote to it, for display. */
  readonly version: string;
  readonly formers: readonly string[];
  /** The highest number of a deleted job, or of a job that may have been accepted without a record. */
  readonly lastJob: number;
  /** The folder in which its scheduler was last a member of a cluster, see `placeOf`; undefined: none. */
  readonly place?: string | undefined;
  /** How often a scheduler has continued it from a copy of its folder. */
  readonly moves?: number;
  /** Its last scheduler has stopped in an orderly way, so a copy made since then lacks nothing. */
  readonly stopped?: boolean;
}

/** Maximum number of former owners. Tasks of earlier owners are assumed to have ended. */
const FORMERS_MAX = 8;

export function newIdentity(tag: string, version: string): Identity {
  return { format: FORMAT, tag, version, formers: [], lastJob: 0 };
}

/**
 * @param lastJob the highest number that was ever recorded or skipped
 * @param skipped how many more numbers to skip, except for the first owner
 */
export function succeededBy(
  identity: Identity,
  self: string,
  version: string,
  lastJob: number,
  skipped: number,
): Identity {
  const formers = [...identity.formers.filter((former) => former !== self), self].slice(-FORMERS_MAX);
  // A new owner skips the numbers that its predecessor may have used without a record. Its successor must skip them
  // too, even if nothing is recorded until then.
  const skippedJobs = identity.formers.length === 0 ? 0 : LIMITS.unrecordedJobsMax + skipped;
  return { ...identity, format: FORMAT, version, formers, lastJob: lastJob + skippedJobs };
}

/** @throws JournalError `journal-newer`, `journal-damaged` */
export function checkIdentity(value: unknown, where: string): Identity {
  const given = value as Partial<Identity> | undefined | null;
  if (typeof given?.format === 'number' && given.format > FORMAT) {
    throw new JournalError(
      'journal-newer',
      `the journal in ${where} was written by goshawk ${given.version ?? 'by a later version'} in format ${given.format}; this version reads formats up to ${FORMAT}`,
      'use that version or a later one',
    );
  }
  if (typeof given?.format !== 'number' || typeof given.tag !== 'string') {
    throw new JournalError(
      'journal-damaged',
      `the journal in ${where} has no format record`,
      'move it away, or use another folder',
    );
  }
  const { format, tag, version = '', formers = [], lastJob = 0, place, moves = 0, stopped = false } = given;
  return { format, tag, version, formers, lastJob, place, moves, stopped };
}
