export { type CommitPromise, checkSchema, createSchema, weakness } from './create-schema.js';
export { PostgresJournals, type SharedJournal } from './journals.js';
export { Link } from './link.js';
export { importStored, initStore, type JournalOwner, journalOwners, storedJournals } from './offline.js';
export { SCHEMA_VERSION } from './schema.js';
export { isJournalUrl, type JournalUrl, parseJournalUrl } from './url.js';
