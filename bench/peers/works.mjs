import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { percentile } from '../dist/bench-report.js';
import { play } from './play.mjs';
import { SLOTS, WORKERS } from './processes.mjs';

/** The amount of each work. */
export const MANY = {
  warmUp: { jobs: 20, tasks: 50 },
  batch: { jobs: 200, tasks: 100 },
  single: 5_000,
  oneAtATime: 300,
  load: { jobs: 300, tasks: 4, sleepMs: 50 },
  programs: 400,
  calls: 2_000,
};
/** The share of slot time that the load takes. Its jobs arrive at random (Poisson). */
const SHARE = 0.9;
const MODULE = new URL('one.mjs', import.meta.url).href;

/** Generates numbers from 0 to 1 that are the same in each run (mulberry32). */
function* drawn(seed) {
  for (let state = seed; ; ) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Returns the arrival times of a load's jobs, the same for each peer. ms */
function arrivalsOf({ jobs, tasks, sleepMs }) {
  const gapMs = (tasks * sleepMs) / (WORKERS * SLOTS * SHARE);
  const numbers = drawn(1);
  let at = 0;
  return Array.from({ length: jobs }, () => {
    at -= gapMs * Math.log(1 - numbers.next().value);
    return at;
  });
}

/** Returns the delays of a load's jobs in an ideal system: one queue, and no overhead. ms */
export function idealDelays(load) {
  const free = Array.from({ length: WORKERS * SLOTS }, () => 0);
  return arrivalsOf(load).map((at) => {
    let end = 0;
    for (let task = 0; task < load.tasks; task++) {
      const slot = free.indexOf(Math.min(...free));
      free[slot] = Math.max(free[slot], at) + load.sleepMs;
      end = Math.max(end, free[slot]);
    }
    return end - at - load.sleepMs;
  });
}

const now = (jobs) => Array.from({ length: jobs }, () => 0);

/**
 * Starts a peer `{ start, does, under, sizes }` in a new folder, and measures the works that it supports.
 *
 * @returns rates per second and times in ms, by name; delays also as multiples of the ideal delays
 */
export async function measure({ start, does, under = tmpdir(), sizes = MANY }, works) {
  const folder = mkdtempSync(join(under, 'goshawk-peers-'));
  const peer = await start(folder);
  const played = peer.play ?? ((plan) => play(peer.run, plan));
  const measured = {};
  const isAsked = (work) => does.includes(work) && works.includes(work);
  const perSecond = async (jobs, tasks, work = {}) => {
    const { totalMs } = await played({ arrivals: now(jobs), tasks, work });
    return (1_000 * jobs * tasks) / totalMs;
  };
  try {
    if (does.includes('W1')) await perSecond(sizes.warmUp.jobs, sizes.warmUp.tasks);
    if (isAsked('W1')) measured.tasksPerSecond = await perSecond(sizes.batch.jobs, sizes.batch.tasks);
    if (isAsked('W1b')) {
      measured.jobsPerSecond = await perSecond(sizes.single, 1);
      // JavaScript engines have compiled the hot code by now.
      measured.warmJobsPerSecond = await perSecond(sizes.single, 1);
    }
    if (isAsked('W2')) {
      const { eachMs } = await played({
        arrivals: now(sizes.oneAtATime),
        tasks: 1,
        work: {},
        isOneAtATime: true,
      });
      measured.p50Ms = percentile(eachMs, 0.5);
      measured.p99Ms = percentile(eachMs, 0.99);
    }
    if (isAsked('W3')) {
      const { tasks, sleepMs } = sizes.load;
      const { eachMs } = await played({ arrivals: arrivalsOf(sizes.load), tasks, work: { sleepMs } });
      const ideal = idealDelays(sizes.load);
      measured.delayP50Ms = percentile(eachMs, 0.5) - sleepMs;
      measured.delayP99Ms = percentile(eachMs, 0.99) - sleepMs;
      measured.delayP50 = measured.delayP50Ms / percentile(ideal, 0.5);
      measured.delayP99 = measured.delayP99Ms / percentile(ideal, 0.99);
    }
    if (isAsked('exec')) {
      await perSecond(1, sizes.programs / 10, { exec: '/bin/true' });
      measured.programsPerSecond = await perSecond(1, sizes.programs, { exec: '/bin/true' });
    }
    if (isAsked('module')) {
      await perSecond(1, sizes.calls / 10, { module: MODULE });
      measured.callsPerSecond = await perSecond(1, sizes.calls, { module: MODULE });
      measured.warmCallsPerSecond = await perSecond(1, sizes.calls, { module: MODULE });
    }
    return measured;
  } finally {
    await peer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
