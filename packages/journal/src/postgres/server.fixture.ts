import { afterAll } from 'vitest';
import { isPostgresThere, PostgresServer } from './postgres-server.fixture.js';

interface Databases {
  /** The URL of a new database, in a PostgreSQL that is started for the first. */
  (): Promise<string>;
  /** There is a PostgreSQL on this machine. */
  readonly isThere: boolean;
  readonly server: () => Promise<PostgresServer>;
}

/** Databases for the tests of one file. Without PostgreSQL they are left out. */
export function databases(settings: Readonly<Record<string, string>> = { fsync: 'off' }): Databases {
  const isThere = isPostgresThere();
  let started: Promise<PostgresServer> | undefined;
  let made = 0;
  const server = (): Promise<PostgresServer> => {
    started ??= PostgresServer.start({ settings });
    return started;
  };
  afterAll(async () => (await started)?.remove());
  const create = async (): Promise<string> => (await server()).createDatabase(`test${++made}`);
  return Object.assign(create, { isThere, server });
}
