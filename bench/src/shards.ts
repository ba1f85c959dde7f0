/**
 * Compares one central with several, each of which schedules an equal part of the workers. Each owner divides its jobs
 * among these shards by a rule (`shards/deal.ts`), and each shard is simulated as a cluster; a divided job ends with its
 * last part. A row is a workload and rule; times are those of one central, and with several as multiples of them.
 *
 *     npm run bench -- shards [--shards 2,4,8,16] [--only google] [--write] [--json]
 *
 * `--write` replaces the rows of the same workloads in `measurements/shards.json`.
 */
import { Random } from '@goshawk/core';
import { configureGenerator, type TraceJob } from '@goshawk/traces';
import { percentile, table } from './bench-report.js';
import { measurementFile, mergedTable, writeMeasurement } from './measurement.js';
import { Folder, fail, note, readOptions } from './script.js';
import { deal, type Rule } from './shards/deal.js';
import { type End, equalTasks } from './worlds/rows.js';
import { ran } from './worlds/run.js';

interface World {
  readonly name: string;
  readonly workers: number;
  readonly jobs: () => readonly TraceJob[];
  /** Jobs of a row, by their class with one central and their user. */
  readonly rows: readonly { readonly name: string; readonly of: (end: End) => boolean }[];
}

const RULES: readonly Rule[] = ['one', 'shorter of two', 'shorter of two, wide jobs over all'];
const QUANTILES = [50, 90, 99] as const;

const generated = (workload: string): readonly TraceJob[] => [...configureGenerator(workload).generate()];

/** A user submits 50 times the cluster's work of a minute at once; another has a fifth of the load in small jobs. */
function twoUsers(): TraceJob[] {
  const many = Array.from({ length: 500 }, () => equalTasks('many', 0, 200, 60));
  const small = generated('poisson:jobs=4000,tasks=10,mean=10,load=0.2,workers=2000');
  return [...many, ...small.map((job) => ({ ...job, submitSeconds: job.submitSeconds + 61, user: 'small' }))];
}

const WORLDS: readonly World[] = [
  {
    name: 'google-like, 15,000 workers',
    workers: 15_000,
    jobs: () => generated('google-like:jobs=10000,workers=15000,load=0.9'),
    rows: [
      { name: 'short jobs', of: (end) => end.class === 'short' },
      { name: 'long jobs', of: (end) => end.class === 'long' },
    ],
  },
  {
    name: '200,000 tasks/s, 100,000 workers',
    workers: 100_000,
    jobs: () => generated('poisson:jobs=20000,tasks=10,mean=0.45,load=0.9,workers=100000'),
    rows: [{ name: 'all jobs', of: () => true }],
  },
  {
    name: 'two users, 2,000 workers',
    workers: 2_000,
    jobs: twoUsers,
    rows: [
      { name: 'small jobs of one', of: (end) => end.job.user === 'small' },
      { name: 'large jobs of the other', of: (end) => end.job.user === 'many' },
    ],
  },
];

const options = readOptions({ shards: [2, 4, 8, 16], only: '', seed: 1, write: false });
const worlds = WORLDS.filter(({ name }) => name.startsWith(options.only));
if (worlds.length === 0)
  fail(`no workload has this prefix; they are ${WORLDS.map(({ name }) => name).join('; ')}`);

using folder = new Folder('shards');
const columns = [
  'workload',
  'jobs',
  'rule',
  '',
  '1 central, s',
  ...options.shards.map((count) => `${count} centrals`),
];
const rows: (string | number)[][] = [];
for (const world of worlds) {
  const jobs = world.jobs();
  const whole = await simulate(jobs, world.workers);
  const wholeSeconds = whole.map(({ runtimeSeconds }) => runtimeSeconds);
  for (const rule of RULES) {
    const divided: Float64Array[] = [];
    for (const shards of options.shards) divided.push(await runtimes(world, jobs, shards, rule));
    for (const { name, of } of world.rows) {
      const chosen = whole.flatMap((end, index) => (of(end) ? [index] : []));
      for (const percent of QUANTILES) {
        const quantile = (from: ArrayLike<number>): number =>
          percentile(
            chosen.map((index) => from[index]!),
            percent / 100,
          );
        const alone = quantile(wholeSeconds);
        const times = divided.map((each) => Number((quantile(each) / alone).toPrecision(3)));
        rows.push([world.name, name, rule, `p${percent}`, Number(alone.toPrecision(4)), ...times]);
      }
    }
  }
}
if (options.json) process.stdout.write(`${JSON.stringify({ schema: 'goshawk.shards/1', columns, rows })}\n`);
else process.stdout.write(`${table([columns, ...rows.map((row) => row.map(String))])}\n`);
if (options.write) {
  const file = measurementFile('shards');
  writeMeasurement(file, {
    group: 'Policies',
    title: 'Several centrals, simulated',
    what:
      'Each of several centrals schedules an equal part of the workers, and owners divide their jobs among them. Run times of jobs ' +
      'with one central, and with several as multiples of these. One: a random central for each job. Shorter of two: the one with ' +
      'less work of two random ones, as published every 5 s. Wide jobs over all: also, jobs with more tasks than 1% of the workers ' +
      'of a central are divided among all.',
    commands: ['npm run bench -- shards --write'],
    tables: [
      mergedTable(
        file,
        { columns, rows },
        WORLDS.map(({ name }) => name),
      ),
    ],
  });
}

/** Simulates a cluster. @returns the ends in the order of the jobs */
async function simulate(jobs: readonly TraceJob[], workers: number): Promise<readonly End[]> {
  const cluster = ['--workers', `${workers}`];
  const ends = (await ran(jobs, ['goshawk'], cluster, options.seed, folder.path)).get('goshawk')!;
  const byJob = new Map(ends.map((end) => [end.job, end]));
  return jobs.map((job) => byJob.get(job)!);
}

/** Returns the run time of each job in seconds, until its last part has ended. */
async function runtimes(
  { name, workers }: World,
  jobs: readonly TraceJob[],
  shards: number,
  rule: Rule,
): Promise<Float64Array> {
  const workersOfEach = Math.floor(workers / shards);
  const random = Random.seeded(`${name} ${shards}`);
  const seconds = new Float64Array(jobs.length);
  for (const parts of deal(jobs, { shards, workersOfEach, rule, random })) {
    const ends = await simulate(
      parts.map(({ job }) => job),
      workersOfEach,
    );
    for (const [place, { of }] of parts.entries())
      seconds[of] = Math.max(seconds[of]!, ends[place]!.runtimeSeconds);
  }
  note(`${name}: ${shards} centrals, ${rule}`);
  return seconds;
}
