import { parentPort, workerData } from 'node:worker_threads';
import { describeFailure } from '@goshawk/cli';
import { perform } from './perform.js';
import type { ThreadInput, ThreadMessage } from './threads.js';

const say = (message: ThreadMessage): void => parentPort!.postMessage(message);
try {
  const { request, source } = workerData as ThreadInput;
  const outcome = await perform(request, source, (progress) => say({ kind: 'progress', progress }));
  say({ kind: 'done', outcome });
} catch (error) {
  say({ kind: 'failed', failure: describeFailure(error) });
}
