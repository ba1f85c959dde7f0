import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import type { Cluster } from '@goshawk/client';
import { GoshawkError } from '@goshawk/core';
import { findGenerator } from '@goshawk/traces';
import { outcomeFile, type RunEnd, type RunOrder, SHARED_RUNS, type SharedRuns } from './cluster-task.js';
import type { JobSource, OnDone, RunOutcome, RunProgress, RunRequest } from './request.js';
import { errorOf } from './threads.js';

/**
 * Performs each run as a task of a cluster and returns the outcomes in the order of the requests.
 *
 * @param under a folder at the same path on the workers, like this installation; relative paths start there
 * @throws the first error, in order; JobFailed if a worker cannot run simulations; errors of `submit`
 */
export async function performOnCluster(
  cluster: Cluster,
  under: string,
  requests: readonly RunRequest[],
  source: JobSource,
  onProgress: (index: number, progress: RunProgress) => void,
  signal: AbortSignal,
  onDone: OnDone = async () => {},
): Promise<RunOutcome[]> {
  const folder = await mkdtemp(join(under, '.goshawk-runs-'));
  try {
    const shared: SharedRuns = {
      requests: requests.map((request) => ({ ...request, from: under })),
      source: portable(source, under),
    };
    await writeFile(join(folder, SHARED_RUNS), serialize(shared));
    const module = fileURLToPath(new URL('./cluster-task.js', import.meta.url));
    const orders = requests.map((_, run): RunOrder => ({ folder, run }));
    const outcomes: RunOutcome[] = [];
    for await (const end of cluster.map<RunOrder, RunEnd>({ module }, orders, {
      name: 'simulation',
      signal,
    })) {
      if ('failure' in end) throw errorOf(end.failure);
      const run = outcomes.length;
      outcomes.push(await outcomeOf({ folder, run }));
      onProgress(run, end);
      await onDone(run, outcomes[run]!);
    }
    return outcomes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function outcomeOf(order: RunOrder): Promise<RunOutcome> {
  const file = outcomeFile(order);
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch {
    throw new GoshawkError(
      'no-outcome',
      `a worker ran a simulation, but ${file} is missing here`,
      'workers must see this folder at the same path: run the command in a shared folder',
    );
  }
  return deserialize(bytes) as RunOutcome;
}

/** Makes a job source usable by other processes: absolute paths, and memory that threads do not share. */
function portable(source: JobSource, from: string): JobSource {
  if (source.kind === 'spec') {
    const { spec, features, resources } = source;
    return {
      kind: 'spec',
      spec: findGenerator(spec) === undefined ? resolve(from, spec) : spec,
      features: features === undefined ? undefined : resolve(from, features),
      resources,
    };
  }
  const { submitSeconds, meanSeconds, durationsSeconds, ends, more } = source.packed;
  const [submit, mean, durations, end] = [submitSeconds, meanSeconds, durationsSeconds, ends].map((column) =>
    Float64Array.from(column),
  );
  return {
    kind: 'packed',
    packed: { submitSeconds: submit!, meanSeconds: mean!, durationsSeconds: durations!, ends: end!, more },
  };
}
