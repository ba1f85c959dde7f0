/** Test helpers for other packages. */
export { damageFile } from './damage.fixture.js';
export {
  freePort,
  isPostgresThere,
  PostgresServer,
  postgresPrograms,
} from './postgres/postgres-server.fixture.js';
export { databases } from './postgres/server.fixture.js';
export { accepted, attempt, ended, recordsOf } from './records.fixture.js';
export { isRequired, leaveOut } from './required.fixture.js';
export { SharedDisk, type SharedRow, type Written } from './shared-disk.fixture.js';
