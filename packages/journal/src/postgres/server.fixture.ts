import { afterAll } from 'vitest';
import { PostgresServer, postgresPrograms } from './postgres-server.fixture.js';

interface Databases {
  /** The URL of a new database, in a PostgreSQL that is started for the first. */
  (): Promise<string>;
  /** There is a PostgreSQL on this machine. */
  readonly isThere: boolean;
  readonly server: () => Promise<PostgresServer>;
}

/**
 * Databases for the tests of one file. Without PostgreSQL they are left out, which is said; with
 * `GOSHAWK_REQUIRE=postgres` that is a failure.
 */
export function databases(settings: Readonly<Record<string, string>> = { fsync: 'off' }): Databases {
  const isThere = postgresPrograms() !== undefined;
  if (!isThere) {
    const missing = 'there is no PostgreSQL on this machine (apt-get install postgresql)';
    if ((process.env.GOSHAWK_REQUIRE ?? '').split(',').includes('postgres')) throw new Error(missing);
    console.warn(`${missing}: its tests are left out`);
  }
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
