import { parentPort, workerData } from 'node:worker_threads';
import { describeFailure } from '@goshawk/command';
import { type JobChange, timesOfJob } from './job-start.js';
import type { Snapshot } from './snapshot.js';
import type { ThreadAnswer } from './what-if-job.js';

const { snapshot, changes } = workerData as {
  readonly snapshot: Snapshot;
  readonly changes: readonly JobChange[];
};

async function answer(): Promise<ThreadAnswer> {
  try {
    const times = [];
    for (const change of changes) times.push(await timesOfJob(snapshot, change));
    return { times };
  } catch (error) {
    return { failure: describeFailure(error) };
  }
}

parentPort!.postMessage(await answer());
