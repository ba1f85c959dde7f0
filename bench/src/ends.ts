import { Random } from '@goshawk/core';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { liveEnds } from './ends/live.js';
import { forecastWorld, KNOWLEDGE, type Outcome, type Stated, WORLDS } from './ends/worlds.js';
import { note, readOptions } from './script.js';

/**
 * Measures how far expected ends of jobs can be trusted, in virtual time: the share of jobs that end within the stated interval,
 * and the error of the stated end in percent of the time that was left, over all forecasts and with one random forecast per job;
 * with known run times, with estimates from history, and without estimates.
 *
 * With `--live`, the same for jobs that are submitted for so many seconds to a cluster of real processes.
 *
 *     npm run bench -- ends [--only google-like,mixed] [--policy goshawk] [--forecasts 150] [--json]
 *     npm run bench -- ends --live 60 [--seed 1]
 */
const options = readOptions({ only: [''], policy: 'goshawk', forecasts: 150, live: 0, seed: '1' });

const results: BenchResult[] = [];
if (options.live > 0)
  for (const knowledge of KNOWLEDGE)
    await measure(`live, ${knowledge}: `, () => liveEnds(knowledge, options.seed, 1_000 * options.live));
else
  for (const world of WORLDS.filter(({ name }) => options.only.some((prefix) => name.startsWith(prefix))))
    for (const knowledge of KNOWLEDGE)
      await measure(`${world.name}, ${knowledge}: `, () =>
        forecastWorld(world, knowledge, options.policy, options.forecasts),
      );
printReport('ends', results, options.json);

async function measure(of: string, run: () => Outcome | Promise<Outcome>): Promise<void> {
  const begin = performance.now();
  const { stated, unknown, asked, forecasts, tookMs } = await run();
  const each = onePerJob(stated);
  results.push(
    result(`${of}within the interval`, '%', [covered(stated)]),
    result(`${of}within the interval, one per job`, '%', [covered(each)]),
    result(`${of}median error`, '%', [errorOf(stated)]),
    result(`${of}median error, one per job`, '%', [errorOf(each)]),
    result(`${of}unknown`, '%', [(100 * unknown) / asked]),
    // In a live cluster, central computes them.
    ...(Number.isNaN(tookMs) ? [] : [result(`${of}per forecast`, 'ms', [tookMs / forecasts])]),
  );
  note(
    `${of}${stated.length} ends of ${each.length} jobs in ${Math.round((performance.now() - begin) / 1_000)} s`,
  );
}

function onePerJob(stated: readonly Stated[]): Stated[] {
  const random = Random.seeded('one per job');
  const byJob = new Map<string, Stated[]>();
  for (const each of stated) {
    const before = byJob.get(each.job) ?? [];
    byJob.set(each.job, before);
    before.push(each);
  }
  return [...byJob.values()].map((of) => of[Math.floor(random.next() * of.length)]!);
}

function covered(stated: readonly Stated[]): number {
  const inside = stated.filter(
    ({ actualMs, earliestMs, latestMs }) => earliestMs <= actualMs && actualMs <= latestMs,
  );
  return (100 * inside.length) / stated.length;
}

function errorOf(stated: readonly Stated[]): number {
  return percentile(
    stated.map(({ inMs, actualMs }) => (100 * Math.abs(inMs - actualMs)) / Math.max(1, actualMs)),
    0.5,
  );
}
