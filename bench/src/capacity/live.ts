import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@goshawk/client';
import { nearestRank } from '@goshawk/core';
import { startScheduler, startWorkers } from '@goshawk/runtime';
import { SILENT_LOGGER } from '@goshawk/transport';
import { Daemons } from '../daemons.js';
import { processorTime } from '../proc.js';
import { Folder } from '../script.js';

const WORKERS = 200;
const SCHEDULERS = 4;
const TASKS_A_JOB = 10;

interface LivePoint {
  readonly offered: number;
  /** Tasks a second, as the client counts them. */
  readonly done: number;
  /** From submission to the end of jobs whose tasks take no time. ms */
  readonly p50: number;
  readonly p90: number;
  /** Of central's processor, for each task. */
  readonly centralMicros: number;
}

/**
 * A real central in a process of its own; schedulers, workers and the client share this one, so that most of what is
 * not central's has one processor. Tasks take no time, and no two of them make a series, so that each is matched.
 *
 * @param rates tasks a second that are offered, one after another
 */
export async function measureLive(
  policy: string,
  rates: readonly number[],
  seconds: number,
): Promise<LivePoint[]> {
  using own = new Folder('capacity');
  const folder = own.path;
  const args = ['--policy', policy, '--matching', 'always', '--series', 'none'];
  const central = await new Daemons(folder).startCentral(args);
  const around = { bind: 'tcp://127.0.0.1:0', central: central.endpoint, logger: SILENT_LOGGER };
  const daemons = [
    ...(await Promise.all(
      Array.from({ length: SCHEDULERS }, (_, i) => startScheduler({ ...around, name: `s${i}` })),
    )),
    await startWorkers({
      ...around,
      names: Array.from({ length: WORKERS }, (_, i) => `w${i}`),
      slots: 1,
      capacity: {},
      dataFolder: folder,
    }),
  ];
  try {
    await Promise.all(daemons.map(({ joined }) => joined));
    await using cluster = await connect(central.endpoint);
    const points: LivePoint[] = [];
    // The first ones find cold code.
    await offer(cluster, rates[0]!, 2);
    for (const rate of rates) points.push(await offer(cluster, rate, seconds));
    return points;
  } finally {
    for (const daemon of daemons) await daemon.stop();
    await central.kill();
  }
}

/** Jobs are submitted by the clock, however long those before them take. */
async function offer(
  cluster: Awaited<ReturnType<typeof connect>>,
  rate: number,
  seconds: number,
): Promise<LivePoint> {
  const gapMs = (1_000 * TASKS_A_JOB) / rate;
  const jobs = Math.ceil((1_000 * seconds) / gapMs);
  const tookMs: number[] = [];
  const before = centralMs();
  const began = performance.now();
  const underway: Promise<void>[] = [];
  for (let i = 0; i < jobs; i++) {
    const waitMs = began + i * gapMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    const at = performance.now();
    const tasks = { count: TASKS_A_JOB, run: { sleep: 0 } };
    const done = cluster.submit({ name: 'load', estimate: '1ms', tasks }).then((job) => job.wait());
    underway.push(done.then(() => void tookMs.push(performance.now() - at)));
  }
  await Promise.all(underway);
  const tasks = jobs * TASKS_A_JOB;
  tookMs.sort((one, other) => one - other);
  return {
    offered: rate,
    done: (1_000 * tasks) / (performance.now() - began),
    p50: nearestRank(tookMs, 50),
    p90: nearestRank(tookMs, 90),
    centralMicros: (1_000 * (centralMs() - before)) / tasks,
  };
}

function centralMs(): number {
  return processorTime(process.pid).get('central') ?? Number.NaN;
}
