import { pinSnapshot } from './lmdb-store.js';

/** Opens a read transaction on a journal and stays in it until the process is killed. */
pinSnapshot(process.argv[2]!);
process.stdout.write('reading\n');
setInterval(() => {}, 1_000);
