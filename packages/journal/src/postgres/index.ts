export { PostgresJournals, type SharedJournal } from './journals.js';
export { Link } from './link.js';
export { type CommitPromise, checkSchema, migrate, weakness } from './migrate.js';
export { importStored, initStore, type JournalOwner, journalOwners, storedJournals } from './offline.js';
export { SCHEMA_VERSION } from './schema.js';
export { isJournalUrl, type JournalUrl, parseJournalUrl } from './url.js';
