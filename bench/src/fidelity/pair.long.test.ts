import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comparisons, difference, runPair } from './pair.js';

/**
 * Maximum ratio of simulated to live, either way. Thirty seeds of the simulator differ by less than a quarter on these
 * jobs.
 */
const FACTOR_MAX = 2;

/**
 * Task run times and queueing, both hundreds of milliseconds, dominate the runtime of a job, not message delays, so the
 * bound also holds on a slow and busy machine. At this load short jobs sometimes wait; on half of the workers they
 * would take more than twice as long.
 */
const JOBS = { short: 40, long: 8, tasks: 4 };
const RUN_SECONDS = { short: [0.3, 0.5], long: [1.2, 1.8] } as const;
const PACE = ['--scale', '1', '--load', '0.6', '--cutoff', '0.8'];

/**
 * Returns a trace of short jobs with a long one at regular intervals. Run times of a job's tasks spread evenly over
 * their range.
 */
function trace(): string {
  const every = (JOBS.short + JOBS.long) / JOBS.long;
  const jobs = Array.from({ length: JOBS.short + JOBS.long }, (_, job) => {
    const [least, most] = RUN_SECONDS[job % every === 0 ? 'long' : 'short'];
    const durationsSeconds = Array.from({ length: JOBS.tasks }, (_, task) => {
      return least + ((most - least) * ((7 * job + 3 * task) % 10)) / 10;
    });
    // A replay draws the arrivals itself.
    return { submitSeconds: job, durationsSeconds };
  });
  return [{ schema: 'goshawk.trace/1' }, ...jobs].map((line) => `${JSON.stringify(line)}\n`).join('');
}

let folder = '';
let workload = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-fidelity-test-'));
  workload = join(folder, 'workload.jsonl');
  await writeFile(workload, trace());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(['hawk', 'sparrow'])('under %s', (policy) => {
  test('a small workload takes about as long simulated as it does live', async () => {
    const pair = await runPair({
      policy,
      workload,
      workers: 30,
      pace: PACE,
      seed: 1,
      simulations: 3,
      folder,
    });
    expect(pair.live.jobs.completed).toBe(pair.live.jobs.submitted);
    expect(pair.live.runtimeSeconds.long.count).toBe(JOBS.long);
    for (const run of pair.simulated) expect(run.jobs).toEqual(pair.live.jobs);
    expect(pair.profile.phases.length).toBeGreaterThan(5);
    for (const [of, at] of comparisons()) {
      const ratio = 1 + difference(pair, of, at);
      expect(ratio, `${of} ${at}`).toBeGreaterThan(1 / FACTOR_MAX);
      expect(ratio, `${of} ${at}`).toBeLessThan(FACTOR_MAX);
    }
  });
});
