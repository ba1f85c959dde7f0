import { performance } from 'node:perf_hooks';
import { Daemons, runGoshawk } from '@goshawk/cli/testing';
import { type Cluster, connect } from '@goshawk/client';
import { formatCount, sumOf } from '@goshawk/core';
import { type BenchResult, percentilesOf, printReport, result } from './bench-report.js';
import { inLanes } from './daemons.js';
import { measurementFile, writeMeasurement } from './measurement.js';
import { processorTime, proportionalMebibytes, residentByKind } from './proc.js';
import { Folder, fail, note, readOptions } from './script.js';
import { startUp } from './up.js';

/**
 * Measures a live cluster while more and more jobs wait: the memory of each role, the answers of the commands and requests that
 * people use, and whether a scheduler is reported as away. Processor time counts on a busy machine, and elapsed time on an idle
 * one. A point is WORKERSxJOBSxTASKS: waiting jobs of this many tasks. Points with the same number of workers share a cluster.
 *
 *     npm run bench -- backlog --points 100x0x1,100x10000x1,100x100000x1 --write
 */
const options = readOptions({
  points: ['100x0x1', '100x10000x1', '100x100000x1'],
  // A scheduler holds at most 50,000 active jobs of one user, and idempotency keys do not distribute them evenly.
  schedulers: 4,
  rounds: 3,
  write: false,
});
const COMMANDS = ['jobs', 'why', 'top'] as const;
const PATHS = ['/v1/jobs', '/v1/overview'] as const;
const ROLES = ['central', 'scheduler', 'worker'] as const;
const IN_FLIGHT = 64;
/** Number of jobs submitted one after another at each point. */
const ALONE = 500;
const HOUR_MS = 3_600_000;

interface Point {
  readonly workers: number;
  readonly jobs: number;
  readonly tasks: number;
}

const points = options.points.map(parsePoint);
const results: BenchResult[] = [];
const rows: (number | string)[][] = [];
let away = 0;
for (const workers of new Set(points.map((point) => point.workers)))
  await measureCluster(points.filter((point) => point.workers === workers));
results.push(result('answers that lack a scheduler', '', [away]));
printReport('backlog', results, options.json);
if (options.write) {
  const columns = [
    'workers',
    'waiting jobs',
    'tasks of each',
    ...ROLES.map((role) => `largest ${role}, MiB`),
    'all processes, MiB',
    'shared pages once, MiB',
  ];
  const times = [
    'submit p50/p99, ms',
    'one at a time, ms',
    ...[...COMMANDS, ...PATHS].map((asked) => `${asked}, s`),
  ];
  writeMeasurement(measurementFile('backlog'), {
    commands: [
      `npm run bench -- backlog --schedulers ${options.schedulers} --points ${options.points.join(',')} --write`,
    ],
    tables: [{ columns: [...columns, ...times, 'CPU of why in schedulers, ms'], rows }],
  });
}
process.exitCode = away === 0 ? 0 : 1;

function parsePoint(text: string): Point {
  const [, workers, jobs, tasks] = /^(\d+)x(\d+)x(\d+)$/.exec(text) ?? [];
  if (tasks === undefined) fail(`--points: expected WORKERSxJOBSxTASKS, not ${text}`);
  return { workers: Number(workers), jobs: Number(jobs), tasks: Number(tasks) };
}

async function measureCluster(of: readonly Point[]): Promise<void> {
  const { workers } = of[0]!;
  using folder = new Folder('backlog');
  const shape = ['--workers', `${workers}`, '--schedulers', `${options.schedulers}`];
  await using up = await startUp(folder.path, shape);
  try {
    await measurePoints(of, up, folder.path);
  } finally {
    // Otherwise the workers wait for the running tasks.
    await runGoshawk(['cancel', '--all', '--yes'], { GOSHAWK_CLUSTER: up.url, XDG_STATE_HOME: folder.path });
  }
}

async function measurePoints(
  of: readonly Point[],
  up: { readonly url: string; readonly pid: number },
  folder: string,
): Promise<void> {
  const { workers } = of[0]!;
  await using cluster = await connect(up.url, { requestTimeoutMs: 60_000 });
  const page = await new Daemons(folder).start('dashboard', [
    ...['dashboard', '--listen', '127.0.0.1:0', '--cluster', up.url],
  ]);
  // All slots are taken, so every other job waits.
  await submit(cluster, 1, workers);
  let waiting = 0;
  for (const { jobs, tasks } of of) {
    const latencies = await submit(cluster, jobs - waiting, tasks);
    waiting = Math.max(waiting, jobs);
    const at = `${workers} workers, ${jobs} jobs of ${tasks}`;
    const alone = await submit(cluster, ALONE, tasks, 1);
    results.push(...percentilesOf(`${at}: submit, one at a time, `, 'ms', alone));
    if (latencies.length > 0) results.push(...percentilesOf(`${at}: submit `, 'ms', latencies));
    const [submitted, submittedAlone] = [latencies, alone].map((each) =>
      percentilesOf('', 'ms', each).map(({ value }) => shown(value)),
    );
    const asked: number[] = [];
    for (const command of COMMANDS)
      asked.push(await measure(at, command, up.pid, () => answerOf(command, up.url, folder)));
    const cpuOfWhy = results.find(({ name }) => name === `${at}: why, CPU of scheduler`)!.value;
    for (const path of PATHS)
      asked.push(
        await measure(at, path, up.pid, async () => (await fetch(`${page.endpoint}${path}`)).text()),
      );
    const memory = residentByKind(up.pid);
    const mebibytes = sumOf([...memory.values()].flat(), (each) => each);
    results.push(result(`${at}: all processes`, 'MiB', [Math.round(mebibytes)]));
    const once = Math.round(proportionalMebibytes(up.pid));
    results.push(result(`${at}: all processes, shared pages counted once`, 'MiB', [once]));
    const largest = ROLES.map((role) => Math.round(Math.max(...(memory.get(role) ?? [Number.NaN]))));
    ROLES.forEach((role, i) => void results.push(result(`${at}: largest ${role}`, 'MiB', [largest[i]!])));
    rows.push([
      ...[workers, formatCount(jobs), formatCount(tasks), ...largest, Math.round(mebibytes), once],
      latencies.length > 0 ? submitted!.join('/') : '',
      submittedAlone!.join('/'),
      ...asked.map((ms) => shown(ms / 1_000)),
      shown(cpuOfWhy),
    ]);
  }
  await page.kill();
}

/** Submits jobs that take an hour. @returns the latencies, ms */
async function submit(to: Cluster, jobs: number, tasks: number, inFlight = IN_FLIGHT): Promise<number[]> {
  const latencies: number[] = [];
  await inLanes(Math.max(0, jobs), inFlight, async () => {
    const began = performance.now();
    await to.submit({ name: 'wait', tasks: { count: tasks, run: { sleep: HOUR_MS } } });
    latencies.push(performance.now() - began);
    if (latencies.length % 5_000 === 0) note(`  ${latencies.length} of ${jobs} jobs submitted`);
  });
  return latencies;
}

async function answerOf(command: string, url: string, folder: string): Promise<string> {
  const environment = { GOSHAWK_CLUSTER: url, XDG_STATE_HOME: folder };
  const { exitCode, stdout, stderr } = await runGoshawk([command, '--json'], environment);
  if (exitCode !== 0) throw new Error(`goshawk ${command} exited with ${exitCode}: ${stderr}`);
  return stdout + stderr;
}

/** Measures elapsed time and the processor time that the cluster spends meanwhile. @returns the median time, ms */
async function measure(at: string, what: string, pid: number, ask: () => Promise<string>): Promise<number> {
  const elapsed: number[] = [];
  const spent = ROLES.map((): number[] => []);
  for (let round = 0; round < options.rounds; round++) {
    const before = processorTime(pid);
    const began = performance.now();
    const answer = await ask();
    elapsed.push(performance.now() - began);
    const after = processorTime(pid);
    ROLES.forEach((role, i) => void spent[i]!.push((after.get(role) ?? 0) - (before.get(role) ?? 0)));
    if (/no answer from|"silent":\s*\["/.test(answer)) away++;
  }
  const time = result(`${at}: ${what}`, 'ms', elapsed);
  results.push(time);
  ROLES.forEach((role, i) => void results.push(result(`${at}: ${what}, CPU of ${role}`, 'ms', spent[i]!)));
  note(`  ${at}: ${what} ${elapsed.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  return time.value;
}

/** Three digits suffice. */
function shown(value: number): string {
  return `${Number(value.toPrecision(3))}`;
}
