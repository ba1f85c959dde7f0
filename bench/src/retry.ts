import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect, type JobSubmission } from '@goshawk/client';
import type { Millis } from '@goshawk/core';
import { type BenchResult, percentilesOf, printReport, result } from './bench-report.js';
import { journalBytes } from './journal-bytes.js';
import { measurementFile, writeMeasurement } from './measurement.js';
import { RealCluster } from './real-cluster.js';
import { Folder, note, readOptions } from './script.js';

/**
 * Measures how one user who cancels and retries a very large job delays others: another client meanwhile submits small
 * jobs one after another, and the longest wait for an answer is the delay.
 */
const PROBE_PAUSE_MS = 2;

interface Shape {
  readonly name: string;
  readonly job: JobSubmission;
}

function shapes(tasks: number, payloadBytes: number): Shape[] {
  const run = { exec: ['sleep', '600'], env: { BIG: 'x'.repeat(payloadBytes) } };
  const waiting = { name: 'large' };
  const half = Math.floor(tasks / 2);
  return [
    { name: 'one stage', job: { ...waiting, tasks: { count: tasks, run } } },
    {
      name: 'two stages',
      job: {
        ...waiting,
        stages: [
          { name: 'first', tasks: { count: half, run } },
          { name: 'second', after: ['first'], tasks: { count: tasks - half, run } },
        ],
      } as JobSubmission,
    },
  ];
}

/** Submits small jobs, one at a time, until it is stopped. @returns how long each waited for its answer */
function probe(client: Cluster): { stop(): Promise<readonly Millis[]> } {
  const waited: Millis[] = [];
  let isOver = false;
  const done = (async () => {
    while (!isOver) {
      const since = performance.now();
      await client.submit({ name: 'probe', tasks: [{ sleep: 0 }] });
      waited.push(performance.now() - since);
      await pause(PROBE_PAUSE_MS);
    }
  })();
  const stop = async () => {
    isOver = true;
    await done;
    return waited;
  };
  return { stop };
}

async function measure(cluster: RealCluster, folder: string, rounds: number, large: readonly Shape[]) {
  await using client = await connect(cluster.url, { requestTimeoutMs: 120_000 });
  await using other = await connect(cluster.url, { requestTimeoutMs: 120_000 });
  const results: BenchResult[] = [];
  const baseline = probe(other);
  await pause(1_000);
  results.push(...percentilesOf('probes alone: answered ', 'ms', await baseline.stop(), [50, 100]));
  for (const { name, job: submission } of large) {
    const took = { cancel: [] as number[], retry: [] as number[] };
    const delays = { submit: [] as number[], cancel: [] as number[], retry: [] as number[] };
    const bytes: number[] = [];
    const during = async (what: keyof typeof delays, act: () => Promise<unknown>): Promise<Millis> => {
      const probes = probe(other);
      await pause(100);
      const since = performance.now();
      await act();
      const ms = performance.now() - since;
      await pause(500);
      delays[what].push(Math.max(...(await probes.stop())));
      return ms;
    };
    for (let round = 0; round < rounds; round++) {
      let job = undefined as Awaited<ReturnType<typeof client.submit>> | undefined;
      await during('submit', async () => {
        job = await client.submit(submission);
      });
      took.cancel.push(await during('cancel', () => job!.cancel()));
      took.retry.push(await during('retry', () => job!.retry()));
      took.cancel.push(await during('cancel', () => job!.cancel()));
      bytes.push(await journalBytes(join(folder, 'scheduler', 'journal'), job!.id, ['accepted']));
      note(`${name}, round ${round + 1}: retried in ${took.retry.at(-1)!.toFixed(0)} ms`);
    }
    results.push(
      result(`${name}: cancel answered`, 'ms', took.cancel),
      result(`${name}: retry answered`, 'ms', took.retry),
      result(`${name}: two cancellations and a retry in the journal`, 'B', bytes),
      result(`${name}: longest wait of others, submit`, 'ms', delays.submit),
      result(`${name}: longest wait of others, cancel`, 'ms', delays.cancel),
      result(`${name}: longest wait of others, retry`, 'ms', delays.retry),
    );
  }
  return results;
}

/** A row for each result, in whole units. */
function written(results: readonly BenchResult[]): void {
  const rows = results.map(({ name, unit, value, runs }) => [
    name,
    `${Math.round(value)} ${unit}`,
    `${Math.round(Math.max(...runs))} ${unit}`,
  ]);
  writeMeasurement(measurementFile('retry'), { tables: [{ columns: ['', 'median', 'most'], rows }] });
}

const { tasks, payload, rounds, json, write } = readOptions({
  tasks: 1_000_000,
  payload: 8_000,
  rounds: 5,
  write: false,
});
using folder = new Folder('retry');
const cluster = new RealCluster(folder.path);
try {
  await cluster.start({});
  const results = await measure(cluster, folder.path, rounds, shapes(tasks, payload));
  printReport('retry', results, json);
  if (write) written(results);
} finally {
  for (const line of cluster.errors()) note(line);
  await cluster.daemons.stop();
}
