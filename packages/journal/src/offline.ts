import type { JobRecord, Millis } from '@goshawk/core';
import type { Identity } from './identity.js';
import { LmdbStore } from './lmdb-store.js';
import { decodeFiled } from './reading.js';
import { BadRecordError } from './record-codec.js';

/** A record that cannot be read, or should not be where it is. */
export interface Damaged {
  readonly job: number;
  /** Which of the job's records, from 0. */
  readonly place: number;
  readonly problem: string;
}

export interface JournalSummary {
  readonly tag: string;
  readonly format: number;
  readonly version: string;
  readonly formers: readonly string[];
  readonly fileBytes: number;
  readonly usedBytes: number;
  readonly jobs: number;
  readonly jobsEnded: number;
  readonly records: number;
  readonly firstAt: Millis | undefined;
  readonly lastAt: Millis | undefined;
}

/** A journal that is looked at and not changed. Its scheduler may be at work meanwhile. */
export class OfflineJournal {
  readonly identity: Identity;
  readonly #store: LmdbStore;

  private constructor(store: LmdbStore, identity: Identity) {
    this.#store = store;
    this.identity = identity;
  }

  /** @throws JournalError */
  static async open(folder: string): Promise<OfflineJournal> {
    const store = LmdbStore.openToRead(folder);
    try {
      const identity = store.readIdentity();
      return new OfflineJournal(
        store,
        identity ?? { format: 0, tag: '', version: '', formers: [], lastJob: 0 },
      );
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** All that can be read; what cannot is told of. */
  *records(onDamage: (damaged: Damaged) => void): Iterable<JobRecord> {
    let current: number | undefined;
    let place = 0;
    for (const [job, bytes] of this.#store.read()) {
      place = job === current ? place + 1 : 0;
      current = job;
      try {
        yield decodeFiled(bytes, job);
      } catch (error) {
        if (!(error instanceof BadRecordError)) throw error;
        onDamage({ job, place, problem: error.message });
      }
    }
  }

  /** Reads everything and says what is wrong with it. */
  verify(): { readonly records: number; readonly jobs: number; readonly damaged: readonly Damaged[] } {
    const damaged: Damaged[] = [];
    let records = 0;
    let jobs = 0;
    let before: JobRecord | undefined;
    let place = 0;
    for (const record of this.records((found) => damaged.push(found))) {
      records++;
      if (record.kind === 'schedulers') continue;
      const isFirst = record.job !== before?.job;
      place = isFirst ? 0 : place + 1;
      if (isFirst) jobs++;
      const problem = misplaced(record, isFirst ? undefined : before);
      // After a record that cannot be read it is no wonder that the next one seems out of place.
      if (problem !== undefined && !damaged.some(({ job }) => job === record.job))
        damaged.push({ job: record.job, place, problem });
      before = record;
    }
    return { records, jobs, damaged };
  }

  summary(): JournalSummary {
    const { tag, format, version, formers } = this.identity;
    let records = 0;
    let jobs = 0;
    let jobsEnded = 0;
    let firstAt: Millis | undefined;
    let lastAt: Millis | undefined;
    for (const { kind, at } of this.records(() => {})) {
      records++;
      if (kind === 'accepted') jobs++;
      if (kind === 'ended') jobsEnded++;
      firstAt = Math.min(firstAt ?? at, at);
      lastAt = Math.max(lastAt ?? at, at);
    }
    return {
      tag,
      format,
      version,
      formers,
      ...this.#store.sizes(),
      jobs,
      jobsEnded,
      records,
      firstAt,
      lastAt,
    };
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}

function misplaced(record: JobRecord, before: JobRecord | undefined): string | undefined {
  if (before === undefined) return record.kind === 'accepted' ? undefined : `it begins with "${record.kind}"`;
  if (record.kind === 'accepted') return 'it was accepted twice';
  return before.kind === 'ended' ? `"${record.kind}" follows its end` : undefined;
}
