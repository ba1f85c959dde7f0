import { randomUUID } from 'node:crypto';
import { type JobRecord, sumOf } from '@goshawk/core';
import { JournalError } from '../errors.js';
import { entryOf } from '../group-commit.js';
import { checkIdentity, newIdentity } from '../identity.js';
import type { JournalReader } from '../offline.js';
import { type Filed, soundRecords } from '../reading.js';
import { succeeding } from '../repair.js';
import { writeGroup } from './journals.js';
import { Link } from './link.js';
import { checkSchema, migrate } from './migrate.js';
import { parseJournalUrl } from './url.js';

/** Records that go to PostgreSQL at once. */
const CHUNK = 1_000;

/**
 * All journals in a PostgreSQL, as they are at one moment.
 *
 * @param tag only the one whose job ids begin so
 * @throws JournalError
 */
export async function storedJournals(url: string, tag?: string): Promise<JournalReader[]> {
  const link = new Link(parseJournalUrl(url), 'goshawk journal');
  try {
    await link.open();
    await checkSchema(link);
    // One statement sees one state.
    const rows = await link.ask<{ of: StoredRow; filed: [string, string, string][] | null }>(
      `select to_jsonb(j) as of, (select jsonb_agg(jsonb_build_array(r.job, r.place, encode(r.body, 'base64')) order by r.job, r.place)
         from goshawk.records r where r.tag = j.tag) as filed
       from goshawk.journals j where $1::text is null or j.tag = $1 order by j.claimed_at`,
      [tag ?? null],
    );
    if (rows.length === 0 && tag !== undefined)
      throw new JournalError('no-journal', `there is no journal of jobs ${tag}-* at ${link.shown}`);
    return rows.map(({ of, filed }) => {
      const records = (filed ?? []).map(([job, place, body]): Filed => {
        return [Number(job), Buffer.from(body, 'base64'), Number(place)];
      });
      const bytes = sumOf(records, ([, body]) => body.length);
      return {
        identity: checkIdentity({ ...of, lastJob: Number(of.last_job) }, link.shown),
        holder: of.holder,
        epoch: Number(of.epoch),
        entries: (onDamage) => soundRecords(records, onDamage),
        sizes: () => ({ fileBytes: bytes, usedBytes: bytes }),
        // PostgreSQL looks after its own files.
        check: () => {},
        close: async () => {},
      };
    });
  } finally {
    await link.close();
  }
}

interface StoredRow {
  readonly tag: string;
  readonly holder: string;
  readonly epoch: number;
  readonly format: number;
  readonly version: string;
  readonly formers: readonly string[];
  readonly last_job: number;
}

/**
 * Makes a journal of records, as `export` gives them, for a scheduler, which looks after them from its next start on.
 *
 * @param records of each job from its acceptance on
 * @throws JournalError when there is one of these jobs, or another job has one of their keys
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
    // Nobody has it before it is whole.
    await link.ask(
      `insert into goshawk.journals (tag, home, holder, adopted, claim, format, version, formers, last_job)
       values ($1, $2, '', true, $3, $4, $5, $6, $7) on conflict do nothing`,
      [tag, scheduler, claim, identity.format, version, identity.formers, identity.lastJob],
    );
    const mine = await link.ask('select from goshawk.journals where tag = $1 and claim = $2', [tag, claim]);
    if (mine.length === 0)
      throw new JournalError(
        'journal-in-use',
        `there is a journal of jobs ${tag}-* at ${link.shown} already`,
      );
    const entries = records.map(entryOf);
    try {
      for (let from = 0, number = 1; from < entries.length; from += CHUNK, number++) {
        const kept = entries.slice(from, from + CHUNK);
        const taken = await writeGroup(link, { tag, epoch: 1 }, { number, kept, forgotten: [] });
        if (taken.length > 0)
          throw new JournalError(
            'journal-in-use',
            `a job at ${link.shown} has the key of one that is imported`,
            'a key is one for the whole cluster; were these jobs imported before?',
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

/** Makes the schema, or brings it to this version. @returns the version before; 0: there was none */
export async function initStore(url: string): Promise<number> {
  const link = new Link(parseJournalUrl(url), 'goshawk journal');
  try {
    await link.open();
    return await migrate(link);
  } finally {
    await link.close();
  }
}
