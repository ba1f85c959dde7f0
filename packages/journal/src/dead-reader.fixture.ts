import { pinSnapshot } from './lmdb-store.js';

/** Reads a journal and stands still in the middle of it, until it is killed. */
pinSnapshot(process.argv[2]!);
process.stdout.write('reading\n');
setInterval(() => {}, 1_000);
