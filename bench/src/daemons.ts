import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '@goshawk/client';
import type { Millis } from '@goshawk/core';

export { type Daemon, Daemons, firstOfEach, GOSHAWK, WITH_HTTP } from '@goshawk/cli/testing';

/** Returns when this many workers and schedulers have joined the cluster. */
export async function allJoined(client: Cluster, workers: number, schedulers = 0): Promise<void> {
  await until(async () => {
    const seen = await client.describe();
    return seen.workers.length >= workers && seen.schedulers.length >= schedulers;
  });
}

/** Polls until the condition is true. */
export async function until(isSo: () => boolean | Promise<boolean>, everyMs: Millis = 50): Promise<void> {
  while (!(await isSo())) await pause(everyMs);
}

/** Runs jobs of empty tasks to completion, `atOnce` jobs at a time. */
export async function runJobs(client: Cluster, jobs: number, tasks: number, atOnce: number): Promise<void> {
  await inLanes(jobs, atOnce, async () => {
    const job = await client.submit({ name: 'load', tasks: { count: tasks, run: { sleep: 0 } } });
    await job.wait();
  });
}

/** Calls `act` this many times, with `lanes` calls in flight. */
export async function inLanes(times: number, lanes: number, act: () => Promise<void>): Promise<void> {
  let left = times;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await act();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
