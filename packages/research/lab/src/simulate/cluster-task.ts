import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { describeFailure, type Failure } from '@goshawk/command';
import type { TaskContext } from '@goshawk/core';
import { perform } from './perform.js';
import type { JobSource, RunProgress, RunRequest } from './request.js';

/**
 * The input of a task. Requests, jobs and outcomes are too large for messages, so they are files in a folder.
 */
export interface RunOrder {
  readonly folder: string;
  readonly run: number;
}

/** Content of the folder before the first run. */
export interface SharedRuns {
  readonly requests: readonly RunRequest[];
  readonly source: JobSource;
}

export const SHARED_RUNS = 'runs';

export function outcomeFile({ folder, run }: RunOrder): string {
  return join(folder, `outcome-${run}`);
}

/** The failure, or the final progress of the run. */
export type RunEnd = { readonly failure: Failure } | RunProgress;

/** Runs one simulation as a task of a cluster and writes its outcome to the folder. */
export default async function runTask(order: RunOrder, context: TaskContext<AbortSignal>): Promise<RunEnd> {
  try {
    const { requests, source } = deserialize(await readFile(join(order.folder, SHARED_RUNS))) as SharedRuns;
    const request = requests[order.run]!;
    let progress: RunProgress = { jobsDone: 0, simulatedSeconds: 0, events: 0 };
    const onProgress = (now: RunProgress): void => {
      progress = now;
      context.progress(now.jobsDone, request.jobs);
    };
    const outcome = await perform(request, source, onProgress, context.signal);
    await writeFile(outcomeFile(order), serialize(outcome));
    return progress;
  } catch (error) {
    return { failure: describeFailure(error) };
  }
}
