import { randomUUID } from 'node:crypto';
import { type JobRecord, sumOf } from '@goshawk/core';
import { JournalError } from '../errors.js';
import { entryOf } from '../group-commit.js';
import { checkIdentity, newIdentity } from '../identity.js';
import type { JournalReader } from '../offline.js';
import { soundHeads, soundRecords } from '../reading.js';
import { succeeding } from '../repair.js';
import { checkSchema, createSchema } from './create-schema.js';
import { filedUnder, identityOf, type Row, writeGroup } from './journals.js';
import { Link } from './link.js';
import { parseJournalUrl } from './url.js';

/** Number of records per insert. */
const CHUNK = 1_000;

/**
 * Opens all journals in a database.
 *
 * @param tag only the journal with this prefix of job ids
 * @throws JournalError
 */
export async function storedJournals(url: string, tag?: string): Promise<JournalReader[]> {
  const link = new Link(parseJournalUrl(url), 'goshawk journal');
  try {
    await link.open();
    await checkSchema(link);
    const rows = await link.ask<Row>(
      'select * from goshawk.journals where $1::text is null or tag = $1 order by claimed_at',
      [tag ?? null],
    );
    if (rows.length === 0 && tag !== undefined)
      throw new JournalError('no-journal', `there is no journal of jobs ${tag}-* at ${link.shown}`);
    const journals: JournalReader[] = [];
    for (const row of rows) {
      const identity = checkIdentity(identityOf(row), link.shown);
      const filed = await filedUnder(link, row.tag);
      const bytes = sumOf(filed, ([, body]) => body.length);
      journals.push({
        identity,
        holder: row.holder,
        epoch: Number(row.epoch),
        entries: (onDamage) => soundRecords(filed, onDamage),
        heads: (onDamage) => soundHeads(filed, onDamage),
        sizes: () => ({ fileBytes: bytes, usedBytes: bytes }),
        // PostgreSQL checks its own files.
        check: () => {},
        close: async () => {},
      });
    }
    return journals;
  } finally {
    await link.close();
  }
}

/** The owner of a journal. */
export interface JournalOwner {
  /** The scheduler that created it. */
  readonly name: string;
  readonly tag: string;
  /** The scheduler that owns it, or owned it last. */
  readonly holder: string;
  readonly epoch: number;
  /** Whether that scheduler is connected to the database. */
  readonly isHeld: boolean;
}

/**
 * Lists the owners of all journals in a database.
 * @throws JournalError
 */
export async function journalOwners(url: string): Promise<JournalOwner[]> {
  const link = new Link(parseJournalUrl(url), 'goshawk journal');
  try {
    await link.open();
    await checkSchema(link);
    const rows = await link.ask<Row & { readonly held: boolean }>(
      `select j.*, exists (
         select from pg_locks l
         where l.locktype = 'advisory' and l.granted and l.objsubid = 1
           and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(j.tag || '/' || j.epoch, 0)
           and l.database = (select oid from pg_database where datname = current_database())
       ) as held
       from goshawk.journals j order by home, claimed_at`,
    );
    return rows.map(({ home, tag, holder, epoch, held }) => ({
      name: home,
      tag,
      holder,
      epoch: Number(epoch),
      isHeld: held,
    }));
  } finally {
    await link.close();
  }
}

/**
 * Creates a journal from records, as `export` prints them, for a scheduler to load at its next start.
 *
 * @param records of each job from its acceptance on
 * @throws JournalError if one of these jobs exists, or another job has one of their keys
 */
export async function importStored(
  url: string,
  scheduler: string,
  { tag, version }: { readonly tag: string; readonly version: string },
  records: readonly JobRecord[],
): Promise<void> {
  const link = new Link(parseJournalUrl(url), 'goshawk journal');
  const identity = succeeding(newIdentity(tag, version), records);
  const claim = randomUUID();
  try {
    await link.open();
    await checkSchema(link);
    // It gets an owner only when it is complete.
    await link.ask(
      `insert into goshawk.journals (tag, home, holder, adopted, claim, format, version, formers, last_job)
       values ($1, $2, '', true, $3, $4, $5, $6, $7) on conflict do nothing`,
      [tag, scheduler, claim, identity.format, version, identity.formers, identity.lastJob],
    );
    const mine = await link.ask('select from goshawk.journals where tag = $1 and claim = $2', [tag, claim]);
    if (mine.length === 0)
      throw new JournalError('journal-in-use', `a journal of jobs ${tag}-* already exists at ${link.shown}`);
    const entries = records.map(entryOf);
    try {
      for (let from = 0, number = 1; from < entries.length; from += CHUNK, number++) {
        const kept = entries.slice(from, from + CHUNK);
        const taken = await writeGroup(link, { tag, epoch: 1 }, { number, kept, forgotten: [] });
        if (taken.length > 0)
          throw new JournalError(
            'journal-in-use',
            `a job at ${link.shown} already has the key of an imported job`,
            'keys are unique in a cluster; check whether these jobs were imported before',
          );
      }
    } catch (error) {
      await link.ask('delete from goshawk.records where tag = $1', [tag]);
      await link.ask('delete from goshawk.journals where tag = $1 and claim = $2', [tag, claim]);
      throw error;
    }
    await link.ask(
      `update goshawk.journals set holder = $2,
         adopted = exists (select from goshawk.journals where holder = $2 and not adopted)
       where tag = $1 and claim = $3`,
      [tag, scheduler, claim],
    );
  } finally {
    await link.close();
  }
}

/** Creates the schema. @returns the previous version; 0: there was none */
export async function initStore(url: string): Promise<number> {
  const link = new Link(parseJournalUrl(url), 'goshawk journal');
  try {
    await link.open();
    return await createSchema(link);
  } finally {
    await link.close();
  }
}
