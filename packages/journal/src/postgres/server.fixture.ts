import { afterAll } from 'vitest';
import { isPostgresThere, PostgresServer } from './postgres-server.fixture.js';

interface Databases {
  /** Creates a database and returns its URL; the first call starts a PostgreSQL server. */
  (): Promise<string>;
  /** Whether PostgreSQL is installed. */
  readonly isThere: boolean;
  readonly server: () => Promise<PostgresServer>;
}

/** Databases for the tests of one file. Without PostgreSQL these tests are skipped. */
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
