import { parentPort, workerData } from 'node:worker_threads';
import { describeFailure } from '@goshawk/command';
import { perform } from './perform.js';
import type { JobSource, RunRequest } from './request.js';
import type { ThreadMessage } from './threads.js';

const source = workerData as JobSource;
const say = (message: ThreadMessage): void => parentPort!.postMessage(message);

async function performed(request: RunRequest): Promise<ThreadMessage> {
  try {
    const outcome = await perform(request, source, (progress) => say({ kind: 'progress', progress }));
    return { kind: 'done', outcome };
  } catch (error) {
    return { kind: 'failed', failure: describeFailure(error) };
  }
}

parentPort!.on('message', async (request: RunRequest) => say(await performed(request)));
