import { SILENT_LOGGER } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { startScheduler } from './scheduler.js';
import { startWorkers } from './workers.js';

test.each(['', 'x'.repeat(257)])(
  'a daemon with a name that messages cannot contain does not start: %j',
  async (name) => {
    const common = { bind: 'tcp://127.0.0.1:0', central: 'tcp://127.0.0.1:1', logger: SILENT_LOGGER };
    const workers = { ...common, names: ['w', name], slots: 1, capacity: {}, dataFolder: '', executors: {} };
    await expect(startWorkers(workers as never)).rejects.toMatchObject({ code: 'bad-name' });
    await expect(startScheduler({ ...common, name } as never)).rejects.toMatchObject({ code: 'bad-name' });
  },
);
