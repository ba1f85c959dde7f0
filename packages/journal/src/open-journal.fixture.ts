import { openLmdbJournal } from './lmdb-journal.js';

/** Opens the journal of a folder and says so. */
await openLmdbJournal({ folder: process.argv[2]!, newTag: () => 'abcde', version: '1' });
process.stdout.write('opened\n');
