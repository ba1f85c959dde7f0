/**
 * Compares the default policy with each specialized policy on the workload for which that policy was designed. A row is
 * a statistic of one workload: the median over the seeds, for goshawk and then for the specialized policies, and the
 * bound. another column contains the number of seeds.
 *
 *     npm run bench -- worlds [--only sizes,users] [--seeds 5] [--write] [--json]
 *
 * `--only` takes prefixes of workload names, without commas. `--write` replaces the rows of the same workloads in
 * `measurements/worlds.json`. The exit code is 0 even if a bound is exceeded.
 */
import { table } from './bench-report.js';
import { measurementFile, mergedTable, writeMeasurement } from './measurement.js';
import { Folder, fail, readOptions } from './script.js';
import { ALONE, WORLDS } from './worlds/rows.js';
import { type Measured, measureWorld } from './worlds/run.js';
import { BACKLOGS, measureTurn } from './worlds/turns.js';

const options = readOptions({ only: [''], seeds: 5, write: false });
const BACKLOG_NAMES = BACKLOGS.map(({ name }) => name);
const isAsked = (name: string): boolean =>
  options.only.some((beginning) => name.replaceAll(',', '').startsWith(beginning));
const worlds = WORLDS.filter(({ name }) => isAsked(name));
const backlogs = BACKLOGS.filter(({ name }) => isAsked(name));
if (worlds.length + backlogs.length === 0)
  fail(
    `no workload has this prefix; the workloads are ${[...WORLDS.map(({ name }) => name), ...BACKLOG_NAMES].join('; ')}`,
  );

using folder = new Folder('worlds');
const measured: Measured[] = [];
for (const world of worlds) measured.push(...(await measureWorld(world, options.seeds, folder.path)));
for (const backlog of backlogs) measured.push(measureTurn(backlog));

const FILE = measurementFile('worlds');
const specialists = new Set(WORLDS.flatMap((world) => world.specialists.map((each) => each.split(':')[0]!)));
const POLICIES = ['goshawk', ...specialists, ALONE];
const columns = ['world', 'statistic', 'seeds', ...POLICIES, 'bound', 'holds'];
const rows = measured.map((row) => [
  row.world,
  row.statistic,
  BACKLOG_NAMES.includes(row.world) ? 1 : options.seeds,
  ...POLICIES.map((policy) => (row.values.has(policy) ? Number(row.values.get(policy)!.toPrecision(4)) : '')),
  boundOf(row),
  row.holds ? 'yes' : `no: ${(row.values.get('goshawk')! / row.limit).toPrecision(3)} × the bound`,
]);

if (options.json) process.stdout.write(`${JSON.stringify({ schema: 'goshawk.worlds/1', columns, rows })}\n`);
else process.stdout.write(`${table([columns, ...rows.map((row) => row.map(String))])}\n`);
if (options.write) {
  writeMeasurement(FILE, {
    group: 'Policies',
    title: 'Workloads of other policies',
    what:
      'The default policy compared with policies that are designed for one workload: medians over seeds of generator and simulator, ' +
      'with known run times. An empty cell means that the policy was not run. `goshawk` must not exceed the bound; in the last ' +
      'rows the bound is on processor time.',
    commands: ['npm run bench -- worlds --write'],
    tables: [mergedTable(FILE, { columns, rows }, [...WORLDS.map(({ name }) => name), ...BACKLOG_NAMES])],
  });
}

function boundOf({ bound, limit }: Measured): string {
  const most = Number(limit.toPrecision(4));
  return 'atMost' in bound ? `${most}` : `${most} = ${bound.times} × ${bound.of}`;
}
