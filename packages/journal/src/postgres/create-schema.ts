import { JournalError } from '../errors.js';
import type { Link } from './link.js';
import { SCHEMA_VERSION, TABLES } from './schema.js';

/** The durability of PostgreSQL commits, as configured by its operator. */
export interface CommitPromise {
  readonly server: string;
  readonly synchronousCommit: string;
  /** Standbys that must also store a commit; empty: none. */
  readonly standbys: string;
  readonly fsync: string;
}

/** Describes missing durability for the log; undefined if commits are durable. */
export function weakness({ synchronousCommit, fsync, standbys }: CommitPromise): string | undefined {
  if (fsync === 'off') return 'fsync is off: accepted jobs may be lost if the machine fails';
  if (synchronousCommit === 'off')
    return 'synchronous_commit is off: recently accepted jobs are lost if PostgreSQL crashes';
  if (standbys !== '' && synchronousCommit === 'local')
    return 'synchronous_commit is local: recently accepted jobs are lost in a failover to a standby';
  return undefined;
}

export async function commitPromise(link: Link): Promise<CommitPromise> {
  const [row] = await link.ask<CommitPromise>(
    `select current_setting('server_version') as server, current_setting('synchronous_commit') as "synchronousCommit",
       current_setting('synchronous_standby_names') as standbys, current_setting('fsync') as fsync`,
  );
  return row!;
}

/** @throws JournalError `no-journal`, `journal-newer` */
export async function checkSchema(link: Link): Promise<void> {
  const version = await schemaVersion(link);
  if (version === 0)
    throw new JournalError(
      'no-journal',
      `there are no journal tables at ${link.shown}`,
      'run `goshawk journal init URL`',
    );
  if (version > SCHEMA_VERSION)
    throw new JournalError(
      'journal-newer',
      `the journals at ${link.shown} have a later version (${version}; this program supports ${SCHEMA_VERSION})`,
      'start the version of goshawk that created them, or a later one',
    );
}

/**
 * Creates the schema in one transaction; concurrent calls wait and find it done.
 * @returns the previous version; 0: there was none
 * @throws JournalError `journal-newer`
 */
export async function createSchema(link: Link): Promise<number> {
  const before = await schemaVersion(link);
  if (before > 0) {
    await checkSchema(link);
    return before;
  }
  // One message of several statements is one transaction.
  await link.ask(`
    select pg_advisory_xact_lock(hashtextextended('goshawk.schema', 0));
    create schema if not exists goshawk;
    create table if not exists goshawk.meta (one boolean primary key default true check (one), version integer not null);
    do $do$ begin
      if not exists (select from goshawk.meta) then
        ${TABLES}
        insert into goshawk.meta (version) values (${SCHEMA_VERSION});
      end if;
    end $do$;`);
  return before;
}

async function schemaVersion(link: Link): Promise<number> {
  const [there] = await link.ask<{ there: boolean }>(
    `select to_regclass('goshawk.meta') is not null as there`,
  );
  if (!there!.there) return 0;
  const [row] = await link.ask<{ version: number }>('select version from goshawk.meta');
  return row?.version ?? 0;
}
