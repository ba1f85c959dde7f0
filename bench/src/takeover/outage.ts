import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@goshawk/client';
import type { Millis } from '@goshawk/core';
import { PostgresServer } from '@goshawk/journal/testing';
import { until } from '../daemons.js';
import { SharedCluster } from './cluster.js';
import { Load } from './load.js';
import { readSharedJournals } from './results.js';

interface OutageReport {
  readonly accepted: number;
  readonly lost: readonly string[];
  readonly notCompleted: readonly string[];
  readonly doubled: readonly string[];
  /** Runs beyond one per task, among those that were running when the database stopped. */
  readonly reruns: number;
  /** Errors that a client with short timeouts received during the outage. */
  readonly refusals: readonly string[];
  /** The time from the database's restart until it accepts connections, in ms. */
  readonly readyMs: Millis;
  /** Time from the start of the database, including its recovery, to the next accepted job, in ms. */
  readonly backMs: Millis;
}

const LANES = 16;
const LONG = { count: 40, run: { sleep: 10_000 } };

/** Stops PostgreSQL under load, and restarts it after a while. */
export async function outage(
  folder: string,
  awayMs: Millis,
  note: (line: string) => void,
): Promise<OutageReport> {
  const server = await PostgresServer.start();
  const url = await server.createDatabase('jobs');
  const shape = { schedulers: 2, workers: 40, workersPerProcess: 20, slots: 2 };
  const cluster = await SharedCluster.start(folder, url, shape);
  const load = await Load.begin(cluster.url, LANES);
  try {
    const long = await load.client.submit({ name: 'long', tasks: LONG });
    await pause(3_000);
    note(`PostgreSQL is stopped for ${awayMs / 1_000} s`);
    await server.stop('immediate');
    const refusals = await askedMeanwhile(cluster.url, awayMs);
    const before = load.accepted.length;
    const startedAt = performance.now();
    await server.start();
    const readyMs = performance.now() - startedAt;
    await until(() => load.accepted.length > before, 10);
    const backMs = load.accepted[before]!.atMs - startedAt;
    note(
      `started, it was ready after ${readyMs.toFixed(0)} ms; the next job accepted after ${backMs.toFixed(0)} ms`,
    );
    await pause(3_000);
    await load.stop();
    const notCompleted = await load.outcomes();
    const { attempts, state, id } = await long.wait();
    if (state !== 'completed') notCompleted.push(id);
    const { accepted, doubled } = await readSharedJournals(url);
    const lost = load.accepted.filter((job) => !accepted.has(job.id)).map((job) => job.id);
    const reruns = attempts.total - LONG.count;
    return { accepted: load.accepted.length, lost, notCompleted, doubled, reruns, refusals, readyMs, backMs };
  } finally {
    await load.stop().catch(() => {});
    await load.client.close();
    await cluster.stop();
    await server.remove();
  }
}

/** Checks that reads are answered and new jobs are refused. @returns the errors of refused jobs */
async function askedMeanwhile(url: string, awayMs: Millis): Promise<string[]> {
  const untilMs = performance.now() + awayMs;
  const refusals: string[] = [];
  await using client = await connect(url, { requestTimeoutMs: 3_000 });
  await pause(Math.min(3_000, awayMs / 2));
  while (performance.now() < untilMs) {
    await client.jobs({ all: true });
    try {
      await client.submit({ name: 'meanwhile', tasks: [{ sleep: 1 }] });
      refusals.push('accepted');
    } catch (error) {
      const { code, message, hint } = error as { code: string; message: string; hint: string };
      refusals.push(`${code}: ${message} (${hint})`);
    }
  }
  return refusals;
}
