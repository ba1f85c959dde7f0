import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as bare from './bare.mjs';
import * as bullmq from './bullmq.mjs';
import * as floor from './floor.mjs';
import * as goshawk from './goshawk.mjs';
import * as graphile from './graphile.mjs';
import { SLOTS, WORKERS } from './processes.mjs';

const QUEUE = ['nothing', 'load', 'exec'];

/**
 * Tasks through Goshawk and through what others would pick instead, in turn, since the machine is never the same for
 * long. Eight slots in two processes each. Medians over the rounds.
 */
const PEERS = {
  floor: { start: floor.start, does: QUEUE },
  goshawk: { start: goshawk.start, does: [...QUEUE, 'module'] },
  'bullmq in memory': { start: (folder) => bullmq.start(folder, { isDurable: false }), does: QUEUE },
  'bullmq on disk': { start: (folder) => bullmq.start(folder, { isDurable: true }), does: QUEUE },
  'graphile-worker': { start: graphile.start, does: QUEUE },
  bare: { start: bare.start, does: ['exec', 'module'] },
};
const WARM_UP = { jobs: 20, tasks: 50 };
const BATCH = { jobs: 200, tasks: 100 };
const SINGLE = 5_000;
const ONE_AT_A_TIME = 300;
/** Jobs of tasks that sleep, which come at random (Poisson) so that slots are taken for this share of the time. */
const LOAD = { jobs: 300, tasks: 4, sleepMs: 50, share: 0.9 };
const PROGRAMS = 400;
const CALLS = 2_000;
const MODULE = new URL('one.mjs', import.meta.url).href;

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

const all = (jobs, peer, tasks) => Promise.all(Array.from({ length: jobs }, () => peer.run(tasks, {})));

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

/** Numbers of 0 to 1 that are the same in each run (mulberry32). */
function* drawn(seed) {
  for (let state = seed; ; ) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** When the jobs of the load come, the same for everybody. ms */
const ARRIVALS = (() => {
  const gapMs = (LOAD.tasks * LOAD.sleepMs) / (WORKERS * SLOTS * LOAD.share);
  const numbers = drawn(1);
  let at = 0;
  return Array.from({ length: LOAD.jobs }, () => {
    at -= gapMs * Math.log(1 - numbers.next().value);
    return at;
  });
})();

/** What jobs of the load wait for with one queue, and nothing that takes time but the tasks. ms */
function idealDelays() {
  const free = Array.from({ length: WORKERS * SLOTS }, () => 0);
  return ARRIVALS.map((at) => {
    let end = 0;
    for (let task = 0; task < LOAD.tasks; task++) {
      const slot = free.indexOf(Math.min(...free));
      free[slot] = Math.max(free[slot], at) + LOAD.sleepMs;
      end = Math.max(end, free[slot]);
    }
    return end - at - LOAD.sleepMs;
  });
}

/** Beyond the time of a task. ms */
function delaysOf(peer) {
  const begun = performance.now();
  return Promise.all(
    ARRIVALS.map(async (at) => {
      await pause(begun + at - performance.now());
      await peer.run(LOAD.tasks, { sleepMs: LOAD.sleepMs });
      return performance.now() - begun - at - LOAD.sleepMs;
    }),
  );
}

const perSecond = async (tasks, peer, work) => tasks / (await secondsOf(() => peer.run(tasks, work)));

async function measure(name) {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-peers-'));
  const { start, does } = PEERS[name];
  const peer = await start(folder);
  const measured = {};
  try {
    if (does.includes('nothing')) {
      await all(WARM_UP.jobs, peer, WARM_UP.tasks);
      const batch = await secondsOf(() => all(BATCH.jobs, peer, BATCH.tasks));
      measured.tasksPerSecond = (BATCH.jobs * BATCH.tasks) / batch;
      measured.jobsPerSecond = SINGLE / (await secondsOf(() => all(SINGLE, peer, 1)));
      const each = [];
      for (let job = 0; job < ONE_AT_A_TIME; job++)
        each.push(1_000 * (await secondsOf(() => peer.run(1, {}))));
      const sorted = ascending(each);
      measured.p50Ms = quantile(sorted, 0.5);
      measured.p99Ms = quantile(sorted, 0.99);
    }
    if (does.includes('load')) {
      const delays = ascending(await delaysOf(peer));
      measured.delayP50Ms = quantile(delays, 0.5);
      measured.delayP99Ms = quantile(delays, 0.99);
    }
    if (does.includes('exec')) {
      await perSecond(PROGRAMS / 10, peer, { exec: '/bin/true' });
      measured.programsPerSecond = await perSecond(PROGRAMS, peer, { exec: '/bin/true' });
    }
    if (does.includes('module')) {
      await perSecond(CALLS / 10, peer, { module: MODULE });
      measured.callsPerSecond = await perSecond(CALLS, peer, { module: MODULE });
    }
    return measured;
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
    const shown = Object.entries(measured[name]).map(([what, value]) => `${what} ${value.toFixed(2)}`);
    console.error(`round ${round}, ${name}: ${shown.join(', ')}`);
  }
  rounds.push(measured);
}

const medianOf = (name, what) => median(rounds.map((measured) => measured[name][what]));
/** Three digits, and all of a large one. */
const rounded = (value) => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
/** Within each round, since rounds differ more than peers do. */
const ratioOf = (name, what) =>
  median(rounds.map((measured) => measured[name][what] / measured.goshawk[what]));
const COLUMNS = {
  'tasks/s': 'tasksPerSecond',
  'jobs/s': 'jobsPerSecond',
  'one job, p50 ms': 'p50Ms',
  'p99 ms': 'p99Ms',
  'load 0.9: delay p50, ms': 'delayP50Ms',
  'delay p99, ms': 'delayP99Ms',
  'programs/s': 'programsPerSecond',
  'module calls/s': 'callsPerSecond',
};
const RATIOS = {
  'tasks/s ÷ ours': 'tasksPerSecond',
  'jobs/s ÷ ours': 'jobsPerSecond',
  'p50 ÷ ours': 'p50Ms',
  'delay p99 ÷ ours': 'delayP99Ms',
  'programs/s ÷ ours': 'programsPerSecond',
  'calls/s ÷ ours': 'callsPerSecond',
};
const has = (name, what) => rounds.every((measured) => measured[name]?.[what] !== undefined);
const rowOf = (name) => {
  const values = Object.entries(COLUMNS).filter(([, what]) => has(name, what));
  const ratios = Object.entries(RATIOS).filter(([, what]) => has(name, what) && has('goshawk', what));
  return {
    peer: name,
    ...Object.fromEntries(values.map(([column, what]) => [column, rounded(medianOf(name, what))])),
    ...Object.fromEntries(ratios.map(([column, what]) => [column, rounded(ratioOf(name, what))])),
  };
};
const ideal = ascending(idealDelays());
const rows = [
  ...names.map(rowOf),
  {
    peer: 'ideal queue',
    'load 0.9: delay p50, ms': rounded(quantile(ideal, 0.5)),
    'delay p99, ms': rounded(quantile(ideal, 0.99)),
  },
];
console.table(rows);
if (values.out !== undefined) {
  const machine = { cores: cpus().length, processor: cpus()[0].model, node: process.version };
  writeFileSync(
    values.out,
    `${JSON.stringify({ command: 'npm run bench:peers', machine, rounds }, null, 2)}\n`,
  );
}
