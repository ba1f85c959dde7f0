import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { postgresPrograms } from '@goshawk/journal/testing';
import { readOptions } from '../../scripts/options.mjs';
import { percentile } from '../dist/bench-report.js';
import { writeMeasurement } from '../dist/measurement.js';
import * as bare from './bare.mjs';
import * as bullmq from './bullmq.mjs';
import * as celery from './celery.mjs';
import * as dask from './dask.mjs';
import * as floor from './floor.mjs';
import * as gearman from './gearman.mjs';
import * as goshawk from './goshawk.mjs';
import * as graphile from './graphile.mjs';
import * as slurm from './slurm.mjs';
import { tablesOf, targetsOf } from './tables.mjs';
import { idealDelays, MANY, measure } from './works.mjs';

const QUEUE = ['W1', 'W1b', 'W2', 'W3', 'exec'];

/** Returns the version that a program prints. Throws if it is not installed. */
const asked = (command, ...args) =>
  /\d+(\.\d+)+/.exec(
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  )[0];
const python = (name) => asked('/usr/bin/python3', '-c', `import ${name}; print(${name}.__version__)`);
const postgres = () => `PostgreSQL ${asked(join(postgresPrograms() ?? '', 'postgres'), '--version')}`;
const redis = () => `Redis ${asked('redis-server', '--version')}`;
const npm = (name) => {
  const path = join('node_modules', name, 'package.json');
  const root = createRequire(import.meta.url)
    .resolve.paths(name)
    .map((folder) => join(dirname(folder), path));
  for (const file of root) {
    try {
      return JSON.parse(readFileSync(file, 'utf8')).version;
    } catch {}
  }
  throw new Error(`there is no ${name}`);
};
const bullmqVersion = () => `BullMQ ${npm('bullmq')}, ${redis()}`;

/**
 * Sizes for Slurm, a batch scheduler that starts a few tasks per second: fewer jobs, and tasks a hundred times as long.
 */
const FEW = {
  warmUp: { jobs: 1, tasks: 8 },
  batch: { jobs: 2, tasks: 40 },
  single: 40,
  oneAtATime: 10,
  load: { jobs: 20, tasks: 4, sleepMs: 5_000 },
  programs: 40,
};

/**
 * Runs the same tasks through Goshawk and its alternatives, in turn, because the machine's speed changes over time.
 * Each system has eight slots in two processes (Slurm: in one). Results are medians over the rounds.
 */
const PEERS = {
  floor: { start: floor.start, does: QUEUE, version: () => `zeromq.js ${npm('zeromq')}`, needs: '' },
  goshawk: { start: goshawk.start, does: [...QUEUE, 'module'], version: () => 'journal on disk', needs: '' },
  'goshawk in memory': {
    start: goshawk.start,
    does: QUEUE,
    version: () => 'journal in /dev/shm',
    needs: '',
    under: '/dev/shm',
  },
  'goshawk in PostgreSQL': {
    start: goshawk.startInPostgres,
    does: QUEUE,
    version: () => `journal in ${postgres()}`,
    needs: 'postgresql',
  },
  'bullmq in memory': {
    start: (folder) => bullmq.start(folder, { isDurable: false }),
    does: QUEUE,
    version: bullmqVersion,
    needs: 'redis-server',
  },
  'bullmq on disk': {
    start: (folder) => bullmq.start(folder, { isDurable: true }),
    does: QUEUE,
    version: bullmqVersion,
    needs: 'redis-server',
  },
  'graphile-worker': {
    start: graphile.start,
    does: QUEUE,
    version: () => `graphile-worker ${npm('graphile-worker')}, ${postgres()}`,
    needs: 'postgresql',
  },
  gearman: {
    start: gearman.start,
    does: QUEUE,
    version: () =>
      `gearmand ${asked('gearmand', '--version')}, libgearman ${asked('grep', 'LIBGEARMAN_VERSION_STRING', gearman.HEADER)}, cc ${asked('cc', '--version')}`,
    needs: 'gearman-job-server libgearman-dev gcc',
  },
  celery: {
    start: celery.start,
    does: QUEUE,
    version: () => `Celery ${python('celery')}, redis-py ${python('redis')}, ${redis()}`,
    needs: 'python3-celery python3-redis redis-server',
  },
  dask: {
    start: dask.start,
    does: QUEUE,
    version: () => `Dask distributed ${python('distributed')}`,
    needs: 'python3-distributed',
  },
  slurm: {
    start: slurm.start,
    does: QUEUE,
    version: () =>
      `Slurm ${asked('slurmctld', '-V')}, ${asked('slurmd', '-V')}, munge ${asked('munged', '--version')}`,
    needs: 'slurm-wlm munge',
    sizes: FEW,
  },
  bare: {
    start: bare.start,
    does: ['exec', 'module'],
    version: () => `Piscina ${npm('piscina')}`,
    needs: '',
  },
};
const WORKS = [...QUEUE, 'module'];
const values = readOptions('npm run bench -- peers [OPTIONS]', {
  rounds: 5,
  peers: Object.keys(PEERS),
  works: WORKS,
  write: undefined,
});

/** Ends the process if a list contains an unknown name. */
function chosen(option, there) {
  const names = values[option];
  const wrong = names.find((name) => !there.includes(name));
  if (wrong === undefined) return names;
  console.error(`bench:peers: --${option}: there is no ${wrong}; there are ${there.join(', ')}`);
  process.exit(2);
}

const works = chosen('works', WORKS);
const versions = {};
const names = chosen('peers', Object.keys(PEERS)).filter((name) => {
  try {
    versions[name] = PEERS[name].version();
    return true;
  } catch {
    console.error(`bench:peers: ${name} is skipped; install ${PEERS[name].needs}`);
    return false;
  }
});

const rounds = [];
for (let round = 1; round <= values.rounds; round++) {
  const measured = {};
  for (const name of names) {
    const began = performance.now();
    measured[name] = await measure(PEERS[name], works);
    const shown = Object.entries(measured[name]).map(([what, value]) => `${what} ${value.toFixed(2)}`);
    const seconds = ((performance.now() - began) / 1_000).toFixed(0);
    console.error(`round ${round}, ${name} (${seconds} s): ${shown.join(', ')}`);
  }
  rounds.push(measured);
}

const ideal = idealDelays(MANY.load);
const idealMs = { delayP50Ms: percentile(ideal, 0.5), delayP99Ms: percentile(ideal, 0.99) };
const tables = [...tablesOf(names, rounds, idealMs), targetsOf(rounds)];
for (const { title, columns, rows } of tables) {
  console.log(`\n${title}`);
  console.table(
    rows.map((row) => Object.fromEntries(columns.map((column, at) => [column || 'peer', row[at]]))),
  );
}
if (values.write !== undefined) {
  writeMeasurement(values.write, {
    group: 'Speed',
    title: 'Compared with alternatives',
    what:
      'Eight slots in two processes. W1: 200 jobs of 100 empty tasks, submitted at once. W1b: 5,000 jobs of one empty task, then the same again. ' +
      'W2: one job at a time. W3: 300 jobs of four tasks of 50 ms at load 0.9; the delay is the time beyond the run time of a task, and is compared ' +
      'with that of one ideal queue. Programs: 400 runs of /bin/true. Calls: 2,000 calls of a module, then the same again. Goshawk, BullMQ on disk ' +
      '(appendfsync always) and graphile-worker store jobs on disk; the others do not. Medians of interleaved rounds; ratios are computed within a round.',
    commands: [`npm run bench -- peers -- ${process.argv.slice(2).join(' ')}`],
    notes: [
      'The floor is a minimal broker on ZeroMQ and msgpack; bare is plain `spawn` for programs, and Piscina for calls.',
      'Slurm runs fewer jobs; in its W3, 20 jobs have tasks of 5 s.',
      ...names.map((name) => `${name}: ${versions[name]}.`),
    ],
    tables,
  });
}
