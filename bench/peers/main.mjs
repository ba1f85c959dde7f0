import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as bullmq from './bullmq.mjs';
import * as floor from './floor.mjs';
import * as goshawk from './goshawk.mjs';
import * as graphile from './graphile.mjs';

/**
 * Tasks that do nothing, through Goshawk and through what others would pick instead, in turn, since the machine is never
 * the same for long. Eight slots in two processes each. Medians over the rounds.
 */
const PEERS = {
  floor: { start: floor.start },
  goshawk: { start: goshawk.start },
  'bullmq in memory': { start: (folder) => bullmq.start(folder, { isDurable: false }) },
  'bullmq on disk': { start: (folder) => bullmq.start(folder, { isDurable: true }) },
  'graphile-worker': { start: graphile.start },
};
const WARM_UP = { jobs: 20, tasks: 50 };
const BATCH = { jobs: 200, tasks: 100 };
const SINGLE = 5_000;
const ONE_AT_A_TIME = 300;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    peers: { type: 'string', default: Object.keys(PEERS).join(',') },
    out: { type: 'string' },
  },
});
const names = values.peers.split(',');
for (const name of names) {
  if (PEERS[name] !== undefined) continue;
  console.error(`bench:peers: there is no peer ${name}; there are ${Object.keys(PEERS).join(', ')}`);
  process.exit(2);
}

const all = (jobs, peer, tasks) => Promise.all(Array.from({ length: jobs }, () => peer.run(tasks)));

async function secondsOf(act) {
  const start = performance.now();
  await act();
  return (performance.now() - start) / 1_000;
}

function quantile(sorted, q) {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

const ascending = (numbers) => [...numbers].sort((one, other) => one - other);
const median = (numbers) => quantile(ascending(numbers), 0.5);

async function measure(name) {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-peers-'));
  const peer = await PEERS[name].start(folder);
  try {
    await all(WARM_UP.jobs, peer, WARM_UP.tasks);
    const batch = await secondsOf(() => all(BATCH.jobs, peer, BATCH.tasks));
    const single = await secondsOf(() => all(SINGLE, peer, 1));
    const each = [];
    for (let job = 0; job < ONE_AT_A_TIME; job++) each.push(1_000 * (await secondsOf(() => peer.run(1))));
    const sorted = ascending(each);
    return {
      tasksPerSecond: (BATCH.jobs * BATCH.tasks) / batch,
      jobsPerSecond: SINGLE / single,
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
    };
  } finally {
    await peer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const rounds = [];
for (let round = 1; round <= Number(values.rounds); round++) {
  const measured = {};
  for (const name of names) {
    measured[name] = await measure(name);
    const { tasksPerSecond, jobsPerSecond, p50Ms, p99Ms } = measured[name];
    console.error(
      `round ${round}, ${name}: ${Math.round(tasksPerSecond)} tasks/s, ${Math.round(jobsPerSecond)} jobs/s, one at a time ${p50Ms.toFixed(2)} ms (p99 ${p99Ms.toFixed(2)})`,
    );
  }
  rounds.push(measured);
}

const medianOf = (name, what) => median(rounds.map((measured) => measured[name][what]));
/** Within each round, since rounds differ more than peers do. */
const ratioOf = (name, what) =>
  median(rounds.map((measured) => measured[name][what] / measured.goshawk[what]));
const rows = names.map((name) => ({
  peer: name,
  'tasks/s': Math.round(medianOf(name, 'tasksPerSecond')),
  'jobs/s': Math.round(medianOf(name, 'jobsPerSecond')),
  'one job, p50 ms': Number(medianOf(name, 'p50Ms').toFixed(2)),
  'p99 ms': Number(medianOf(name, 'p99Ms').toFixed(2)),
  ...(names.includes('goshawk')
    ? {
        'tasks/s ÷ ours': Number(ratioOf(name, 'tasksPerSecond').toFixed(2)),
        'jobs/s ÷ ours': Number(ratioOf(name, 'jobsPerSecond').toFixed(2)),
        'p50 ÷ ours': Number(ratioOf(name, 'p50Ms').toFixed(2)),
      }
    : {}),
}));
console.table(rows);
if (values.out !== undefined) {
  const machine = { cores: cpus().length, processor: cpus()[0].model, node: process.version };
  writeFileSync(
    values.out,
    `${JSON.stringify({ command: 'npm run bench:peers', machine, rounds }, null, 2)}\n`,
  );
}
