import { openLmdbJournal } from './lmdb-journal.js';

/** Opens the journal of a folder and prints a line. */
await openLmdbJournal({ folder: process.argv[2]!, newTag: () => 'abcde', version: '1' });
process.stdout.write('opened\n');
