import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect, type JobSubmission } from '@goshawk/client';
import { type Millis, sumOf } from '@goshawk/core';
import { type BenchResult, printReport, result } from './bench-report.js';
import { Daemons, WITH_HTTP } from './daemons.js';
import { Folder, note, readOptions } from './script.js';

/**
 * Measures what ten users with weights and limits do to each other on a real cluster: how much the shares of those who always wait
 * differ from their weights, and how much longer two users with little work wait.
 */
const GREEDY: Readonly<Record<string, number>> = { wide: 1, double: 2, triple: 3, flood: 1, mixed: 2 };
const LIMITED = { tasks: { running: 2 }, cores: { cpus: 2 }, memory: { memory: '1GiB' } };
const MODEST = ['modest', 'frugal'];
const WARM_UP_MS = 10_000;

/** Work for all of the time, however long it lasts. */
function backlogs(seconds: number, slots: number): JobSubmission[] {
  const tasks = (sleep: Millis) => ({ count: Math.ceil((seconds * 1_000 * slots) / sleep), run: { sleep } });
  const jobs: JobSubmission[] = [
    { user: 'wide', tasks: tasks(1_000) },
    { user: 'double', tasks: tasks(1_500) },
    { user: 'triple', tasks: tasks(2_000) },
    { user: 'tasks', tasks: tasks(2_000) },
    { user: 'cores', demand: { cpu: 2 }, tasks: tasks(2_000) },
    { user: 'memory', demand: { cpu: 1, memory: '512MiB' }, tasks: tasks(2_000) },
    ...[500, 3_000].map((sleep) => ({ user: 'mixed', tasks: tasks(sleep) })),
  ];
  return jobs.map((job) => ({ ...job, name: 'backlog' }));
}

/** Submits small jobs until it is aborted, as a user with little work or as one with many jobs. */
async function submitting(cluster: Cluster, user: string, pauseMs: Millis, over: AbortSignal) {
  const waits: Millis[] = [];
  while (!over.aborted) {
    const since = performance.now();
    const job = await cluster.submit({ user, name: 'small', tasks: [{ sleep: 200 }] });
    if (MODEST.includes(user)) {
      await job.wait();
      waits.push(performance.now() - since - 200);
    }
    await pause(pauseMs);
  }
  return waits;
}

/** Returns the CPUs that each user's tasks use on average, by the run times of tasks that end in the meantime. */
async function cpusUsed(cluster: Cluster, seconds: number): Promise<ReadonlyMap<string, number>> {
  const [from, since] = [await cluster.usage(), performance.now()];
  await pause(seconds * 1_000);
  const [until, ms] = [await cluster.usage(), performance.now() - since];
  const before = new Map(from.rows.map(({ user = '', cpuMs }) => [user, cpuMs]));
  return new Map(
    until.rows.map(({ user = '', cpuMs }) => [user, (cpuMs - (before.get(user) ?? 0)) / ms] as const),
  );
}

async function measure(cluster: Cluster, seconds: number, slots: number): Promise<BenchResult[]> {
  const alone = new AbortController();
  const before = MODEST.map((user) => submitting(cluster, user, 500, alone.signal));
  await pause(WARM_UP_MS);
  alone.abort();
  const quiet = (await Promise.all(before)).flat();
  for (const job of backlogs(seconds + 60, slots)) await cluster.submit(job);
  const over = new AbortController();
  const flood = submitting(cluster, 'flood', 20, over.signal);
  const during = MODEST.map((user) => submitting(cluster, user, 500, over.signal));
  await pause(WARM_UP_MS);
  note(`measuring for ${seconds} s`);
  const used = await cpusUsed(cluster, seconds);
  over.abort();
  await flood;
  const loaded = (await Promise.all(during)).flat();
  const total = sumOf(Object.keys(GREEDY), (user) => used.get(user) ?? 0);
  const weights = sumOf(Object.values(GREEDY));
  return [
    ...Object.entries(GREEDY).map(([user, weight]) => {
      const share = (used.get(user) ?? 0) / total / (weight / weights);
      return result(`${user}: share above its weight`, '%', [(share - 1) * 100]);
    }),
    ...Object.keys(LIMITED).map((user) => result(`${user}: used`, 'CPUs', [used.get(user) ?? 0])),
    result('all: used', 'CPUs', [sumOf([...used.values()])]),
    result('users with little work: longest wait alone', 'ms', [Math.max(...quiet)]),
    result('users with little work: longest wait', 'ms', [Math.max(...loaded)]),
  ];
}

const { seconds, workers, json } = readOptions({ seconds: 120, workers: 5 });
using folder = new Folder('tenants');
const daemons = new Daemons(folder.path);
try {
  const users = join(folder.path, 'users.json');
  const weighted = Object.entries(GREEDY).map(([user, weight]) => [user, { weight }]);
  writeFileSync(users, JSON.stringify({ ...Object.fromEntries(weighted), ...LIMITED }));
  const environment = { HOME: folder.path };
  await daemons.startCentral([...WITH_HTTP, '--users', users], environment, []);
  await daemons.startScheduler('scheduler', [...WITH_HTTP], environment, []);
  const size = ['--workers', `${workers}`, '--cpus', '4'];
  await daemons.startWorker('worker', [...WITH_HTTP, ...size], environment, []);
  await using cluster = await connect(daemons.url);
  printReport('tenants', await measure(cluster, seconds, workers * 4), json);
} finally {
  await daemons.stop();
}
