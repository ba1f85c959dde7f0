import type { JobRecord, JobRecordOf, KeyHolder } from '@goshawk/core';
import type { Entry } from './group-commit.js';
import { type Identity, newIdentity, succeededBy } from './identity.js';
import { decodeRecord } from './record-codec.js';
import type { SentGroup } from './sent-groups.js';

/** One of several journals, and its owner. */
export interface SharedRow {
  readonly tag: string;
  /** The scheduler that created it. */
  readonly home: string;
  holder: string;
  /** Whether its holder has taken it over. */
  adopted: boolean;
  epoch: number;
  /** Number of written groups. */
  written: number;
  identity: Identity;
  /** By job, then by place. */
  readonly jobs: Map<number, Map<number, Buffer>>;
}

export interface Written {
  readonly outcome: 'written' | 'fenced';
  /** Jobs whose key belongs to another job, so that none of their records is stored. */
  readonly taken: readonly number[];
}

/**
 * Journals that several owners share, in memory, by the rules of those in PostgreSQL (`goshawk.write` and its claims):
 * for fault injection.
 */
export class SharedDisk {
  readonly #rows = new Map<string, SharedRow>();
  readonly #keys = new Map<string, { readonly tag: string; readonly job: number }>();
  readonly #onWrite: (row: SharedRow, epoch: number, record: JobRecord) => void;

  constructor(onWrite: (row: SharedRow, epoch: number, record: JobRecord) => void) {
    this.#onWrite = onWrite;
  }

  row(tag: string): SharedRow | undefined {
    return this.#rows.get(tag);
  }

  /** The journal of a scheduler, or those that it has taken over. */
  of(holder: string, adopted: boolean): SharedRow[] {
    return [...this.#rows.values()].filter((row) => row.holder === holder && row.adopted === adopted);
  }

  /** The journals of a scheduler that others have taken over, the last one first. */
  takenFrom(home: string): SharedRow[] {
    return [...this.#rows.values()].filter((row) => row.home === home && row.adopted).reverse();
  }

  make(tag: string, holder: string): SharedRow {
    const row = {
      tag,
      home: holder,
      holder,
      adopted: false,
      epoch: 1,
      written: 0,
      identity: newIdentity(tag, ''),
      jobs: new Map(),
    };
    this.#rows.set(tag, row);
    return row;
  }

  /** @param epoch of the previous owner @returns undefined if another process was faster */
  claim(tag: string, epoch: number, holder: string, adopted: boolean): SharedRow | undefined {
    const row = this.#rows.get(tag);
    if (row?.epoch !== epoch) return undefined;
    row.epoch++;
    row.holder = holder;
    row.adopted = adopted;
    return row;
  }

  begin(row: SharedRow, self: string): void {
    row.identity = succeededBy(row.identity, self, '', this.lastJob(row), 0);
  }

  lastJob({ identity, jobs }: SharedRow): number {
    return Math.max(identity.lastJob, ...jobs.keys());
  }

  *entries({ jobs }: SharedRow): Iterable<readonly [undefined, JobRecord]> {
    for (const [, all] of [...jobs].sort(([a], [b]) => a - b))
      for (const bytes of all.values()) yield [undefined, decodeRecord(bytes)];
  }

  /** Writes one group completely or, with a stale epoch, not at all. A group that is sent twice is written once. */
  write(tag: string, epoch: number, { number, kept, forgotten }: SentGroup): Written {
    const row = this.#rows.get(tag)!;
    if (row.epoch !== epoch) return { outcome: 'fenced', taken: [] };
    if (row.written >= number) return { outcome: 'written', taken: this.#takenOf(row, kept) };
    row.written = number;
    for (const job of forgotten) this.#forget(row, job);
    for (const { key, job } of kept) {
      if (key !== undefined && !this.#keys.has(key)) this.#keys.set(key, { tag, job });
    }
    const taken = this.#takenOf(row, kept);
    for (const { job, place, bytes } of kept) {
      if (taken.includes(job)) continue;
      row.jobs.set(job, (row.jobs.get(job) ?? new Map<number, Buffer>()).set(place, bytes!));
      this.#onWrite(row, epoch, decodeRecord(bytes!));
    }
    return { outcome: 'written', taken };
  }

  holderOf(key: string): KeyHolder {
    const by = this.#keys.get(key);
    const records = by && [...this.#rows.get(by.tag)!.jobs.get(by.job)!.values()].map(decodeRecord);
    const accepted = records?.find((record) => record.kind === 'accepted') as
      | JobRecordOf<'accepted'>
      | undefined;
    const ended = records?.find((record) => record.kind === 'ended') as JobRecordOf<'ended'> | undefined;
    return { id: by === undefined ? '' : `${by.tag}-${by.job}`, accepted, ended: ended?.state };
  }

  #takenOf({ tag }: SharedRow, entries: readonly Entry[]): number[] {
    return entries.flatMap(({ key, job }) => {
      const by = key === undefined ? undefined : this.#keys.get(key);
      return key === undefined || (by?.tag === tag && by.job === job) ? [] : [job];
    });
  }

  #forget(row: SharedRow, job: number): void {
    row.jobs.delete(job);
    row.identity = { ...row.identity, lastJob: Math.max(row.identity.lastJob, job) };
    for (const [key, by] of this.#keys) if (by.tag === row.tag && by.job === job) this.#keys.delete(key);
  }
}
