import { parentPort, workerData } from 'node:worker_threads';
import { describeFailure } from '../failure.js';
import { perform } from './perform.js';
import type { RunRequest } from './request.js';
import type { ThreadMessage } from './threads.js';

const say = (message: ThreadMessage): void => parentPort!.postMessage(message);
try {
  const outcome = await perform(workerData as RunRequest, (progress) => say({ kind: 'progress', progress }));
  say({ kind: 'done', outcome });
} catch (error) {
  say({ kind: 'failed', failure: describeFailure(error) });
}
