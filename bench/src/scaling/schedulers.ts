import { join } from 'node:path';
import { startScheduler } from '@goshawk/runtime';
import { SILENT_LOGGER } from '@goshawk/transport';

/** Schedulers of one process, each with a journal: `schedulers.js scheduler COUNT CENTRAL FOLDER`; sends a message when all have joined. */
const [, , , count, central, folder] = process.argv as [string, string, string, string, string, string];
const daemons = await Promise.all(
  Array.from({ length: Number(count) }, (_, i) =>
    startScheduler({
      bind: 'tcp://127.0.0.1:0',
      central,
      logger: SILENT_LOGGER,
      name: `s${i}`,
      journal: { folder: join(folder, `s${i}`), version: 'bench' },
    }),
  ),
);
await Promise.all(daemons.map(({ joined }) => joined));
process.send!('joined');
