import { setTimeout as pause } from 'node:timers/promises';
import { slopeOf, sumOf } from '@goshawk/core';
import { percentile, table } from './bench-report.js';
import { runJobs, until } from './daemons.js';
import { type MeasuredTable, measurementFile, writeMeasurement } from './measurement.js';
import { type Costs, ROLES, ScaledCluster, type Shape } from './scaling/cluster.js';
import { note, readOptions } from './script.js';

/**
 * Measures the processor time per task of central, schedulers and workers, in µs, against the number of workers, schedulers and
 * waiting jobs, with the exponent b of cost = a · n^b, fitted by least squares to the logarithms. The cost of the idle
 * cluster is measured first and subtracted.
 */
const options = readOptions({
  rounds: 3,
  workers: [10, 100, 1_000],
  schedulers: [1, 10, 100],
  backlogs: [100, 1_000, 10_000],
  write: false,
});
const IDLE_MS = 10_000;
/** Cold code costs several times as much. */
const WARM_UP_JOBS = 800;
const JOBS = 400;
const TASKS_A_JOB = 10;
const IN_FLIGHT = 10;

interface Point {
  readonly costs: Costs;
  /** The idle cluster: processors, and resident MiB. */
  readonly idle?: { readonly processors: number; readonly mebibytes: number };
}

function minus(one: Costs, other: Costs, scale = 1): Costs {
  return Object.fromEntries(ROLES.map((role) => [role, one[role] - scale * other[role]])) as Costs;
}

function perTask(costs: Costs, tasks: number): Costs {
  return Object.fromEntries(ROLES.map((role) => [role, (1_000 * costs[role]) / tasks])) as Costs;
}

/** Measures jobs of empty tasks, `IN_FLIGHT` at a time, on an otherwise idle cluster. */
async function steady(shape: Shape): Promise<Point> {
  await using cluster = await ScaledCluster.start(shape);
  await run(cluster, WARM_UP_JOBS);
  const before = cluster.costs();
  await pause(IDLE_MS);
  const idle = minus(cluster.costs(), before);
  const mebibytes = cluster.residentMebibytes();
  const busyBefore = cluster.costs();
  const began = performance.now();
  await run(cluster, JOBS);
  const tookMs = performance.now() - began;
  const busy = minus(minus(cluster.costs(), busyBefore), idle, tookMs / IDLE_MS);
  const processors = sumOf(ROLES, (role) => idle[role]) / IDLE_MS;
  return { costs: perTask(busy, JOBS * TASKS_A_JOB), idle: { processors, mebibytes } };
}

const run = ({ client }: ScaledCluster, jobs: number) => runJobs(client, jobs, TASKS_A_JOB, IN_FLIGHT);

/** Lets this many jobs of one task wait until all slots become free at once. */
async function backlog(jobs: number): Promise<Point> {
  const shape = { workers: 10, slots: 1, schedulers: 1 };
  await using cluster = await ScaledCluster.start(shape);
  await run(cluster, WARM_UP_JOBS);
  const all = { count: shape.workers, run: { sleep: '1h' } };
  // The jobs are declared short: otherwise pilots would run first, and long work would leave slots free.
  const inTheWay = await cluster.client.submit({ tasks: all, estimate: '1ms' });
  await until(async () => (await inTheWay.describe()).tasks.running >= shape.workers);
  const handles = await Promise.all(
    Array.from({ length: jobs }, () => cluster.client.submit({ tasks: [{ sleep: 0 }] })),
  );
  const before = cluster.costs();
  await inTheWay.cancel();
  await Promise.all(handles.map((job) => job.wait()));
  return { costs: perTask(minus(cluster.costs(), before), jobs) };
}

/** b of cost = a · n^b. */
function exponent(points: readonly (readonly [n: number, cost: number])[]): number {
  return slopeOf(points.map(([n, cost]) => [Math.log(n), Math.log(cost)]));
}

const SERIES = [
  {
    title: 'workers of 1 slot, 1 scheduler',
    sizes: options.workers,
    measure: (workers: number) => steady({ workers, slots: 1, schedulers: 1 }),
  },
  {
    title: 'schedulers in one process, 100 workers',
    sizes: options.schedulers,
    measure: (schedulers: number) => steady({ workers: 100, slots: 1, schedulers }),
  },
  {
    title: 'jobs of one task that wait, 10 workers, 1 scheduler',
    sizes: options.backlogs,
    measure: backlog,
  },
];

const measured = SERIES.map(({ sizes }) => new Map(sizes.map((size) => [size, [] as Point[]])));
for (let round = 1; round <= options.rounds; round++) {
  for (const [which, { title, sizes, measure }] of SERIES.entries()) {
    for (const size of sizes) {
      const point = await measure(size);
      measured[which]!.get(size)!.push(point);
      const shown = ROLES.map((role) => `${role} ${point.costs[role].toFixed(0)}`).join(', ');
      note(`round ${round}: ${size} ${title}: µs per task: ${shown}`);
    }
  }
}

function tableOf({ title, sizes }: (typeof SERIES)[number], points: Map<number, Point[]>): MeasuredTable {
  const median = (size: number, value: (point: Point) => number): number =>
    percentile(points.get(size)!.map(value), 0.5);
  const hasIdle = points.get(sizes[0]!)!.some(({ idle }) => idle !== undefined);
  const rows = sizes.map((size) => [
    size,
    ...ROLES.map((role) => Number(median(size, ({ costs }) => costs[role]).toPrecision(3))),
    ...(hasIdle
      ? [
          Number((100 * median(size, ({ idle }) => idle!.processors)).toPrecision(3)),
          Math.round(median(size, ({ idle }) => idle!.mebibytes)),
        ]
      : []),
  ]);
  const exponents = ROLES.map((role) =>
    exponent(sizes.map((size) => [size, median(size, ({ costs }) => costs[role])])).toFixed(2),
  );
  return {
    title,
    columns: [
      'n',
      ...ROLES.map((role) => `${role}, µs per task`),
      ...(hasIdle ? ['idle, % of a core', 'MiB'] : []),
    ],
    rows: [...rows, ['exponent', ...exponents, ...(hasIdle ? ['', ''] : [])]],
  };
}

const tables = SERIES.map((series, which) => tableOf(series, measured[which]!));
for (const { title, columns, rows } of tables)
  process.stdout.write(`${title}\n${table([columns, ...rows.map((row) => row.map(String))])}\n\n`);
if (options.write) writeMeasurement(measurementFile('scaling'), { tables });
