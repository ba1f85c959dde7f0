import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { type Millis, sumOf } from '@goshawk/core';
import { type BenchResult, percentilesOf, printReport, result } from './bench-report.js';
import { residentMebibytes } from './proc.js';
import { metricsOf, RealCluster, type Target } from './real-cluster.js';
import { Folder, note, readOptions } from './script.js';
import { type Submitted, startSubmitter, submittedBy } from './submitter.js';

/**
 * Overloads a scheduler. Its workers run at most 200 tasks of 20 ms per second, and it accepts at most 300 active jobs.
 * Clients submit as fast as they get answers, first a few clients, then very many, while one subscribed client is
 * suspended and reads nothing.
 *
 * Accepted jobs must be answered and must end as soon as the queue allows, other jobs must be refused, and memory must
 * stay bounded.
 */
const ACTIVE_JOBS_MAX = 300;
const RUN_MS = 20;
const PATIENCE_MS = 450;
const LIGHT = { clients: 2, inFlight: 1, pauseMs: 20 };
const FLOOD = { clients: 3, inFlight: 150, pauseMs: 0 };

interface Phase {
  readonly name: string;
  readonly flooded: Submitted;
  readonly seconds: number;
}

async function phase(
  name: string,
  url: string,
  seconds: number,
  { clients, inFlight, pauseMs }: typeof LIGHT,
): Promise<Phase> {
  const children = await Promise.all(Array.from({ length: clients }, () => flooder(url, inFlight, pauseMs)));
  await pause(seconds * 1_000);
  const reports = await Promise.all(
    children.map(async (child) => {
      const flooded = await submittedBy(child);
      child.kill('SIGKILL');
      return flooded;
    }),
  );
  const flooded: Submitted = {
    answeredMs: reports.flatMap(({ answeredMs }) => answeredMs),
    endedMs: reports.flatMap(({ endedMs }) => endedMs),
    refused: sumOf(reports, ({ refused }) => refused),
    failed: sumOf(reports, ({ failed }) => failed),
  };
  return { name, flooded, seconds };
}

/** Retries immediately when the scheduler asks it to come back later: the worst possible client. */
function flooder(url: string, inFlight: number, pauseMs: Millis): Promise<ChildProcess> {
  return startSubmitter({ url, inFlight, pauseMs, tasks: 1, sleepMs: RUN_MS, patienceMs: PATIENCE_MS });
}

function results(phases: readonly Phase[]): BenchResult[] {
  return phases.flatMap(({ name, seconds, flooded: { answeredMs, endedMs, refused, failed } }) => [
    result(`${name}: submissions`, '1/s', [(answeredMs.length + refused) / seconds]),
    result(`${name}: refused`, '1/s', [refused / seconds]),
    result(`${name}: accepted`, '1/s', [answeredMs.length / seconds]),
    result(`${name}: failed`, 'count', [failed]),
    ...percentilesOf(`${name}: answered `, 'ms', answeredMs),
    ...percentilesOf(`${name}: ended `, 'ms', endedMs),
  ]);
}

async function measure(cluster: RealCluster, seconds: number): Promise<BenchResult[]> {
  const scheduler = cluster.targets.find(({ role }) => role === 'scheduler') as Target;
  const light = await phase('calm', cluster.url, seconds, LIGHT);
  const still = await flooder(cluster.url, 200, 0);
  await pause(200);
  still.kill('SIGSTOP');
  const warm = await phase('flood', cluster.url, seconds, FLOOD);
  const before = residentMebibytes(scheduler.daemon.pid);
  const flood = await phase('flood, later', cluster.url, seconds, FLOOD);
  const after = residentMebibytes(scheduler.daemon.pid);
  still.kill('SIGKILL');
  const dropped =
    (await metricsOf(scheduler.httpPort)).get('goshawk_mailbox_dropped_total{reason="overflow"}') ?? 0;
  return [
    ...results([light, warm, flood]),
    result('memory after the first flood', 'MiB', [before]),
    result('memory after the second', 'MiB', [after]),
    result('messages dropped for the suspended client', 'count', [dropped]),
  ];
}

const { seconds, json } = readOptions({ seconds: 15 });
using folder = new Folder('overload');
const cluster = new RealCluster(folder.path);
try {
  await cluster.start({ schedulerArgs: ['--active-jobs-max', `${ACTIVE_JOBS_MAX}`] });
  printReport('overload', await measure(cluster, seconds), json);
} finally {
  for (const line of cluster.errors()) note(line);
  await cluster.daemons.stop();
}
