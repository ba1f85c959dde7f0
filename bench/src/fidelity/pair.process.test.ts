import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comparisons, difference, runPair } from './pair.js';

/** Simulated over live, either way: a small cluster and few jobs on a machine that has other things to do. */
const FACTOR_MAX = 2;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-fidelity-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(['hawk', 'sparrow'])('under %s', (policy) => {
  test('a small workload takes about as long simulated as it does live', async () => {
    const pair = await runPair({
      policy,
      workload: 'google-like:jobs=400,seed=12',
      workers: 30,
      liveFor: '6s',
      seed: 1,
      simulations: 3,
      folder,
    });
    expect(pair.live.jobs.completed).toBe(pair.live.jobs.submitted);
    for (const run of pair.simulated) expect(run.jobs).toEqual(pair.live.jobs);
    expect(pair.profile.phases.length).toBeGreaterThan(5);
    for (const [of, at] of comparisons()) {
      const ratio = 1 + difference(pair, of, at);
      expect(ratio, `${of} ${at}`).toBeGreaterThan(1 / FACTOR_MAX);
      expect(ratio, `${of} ${at}`).toBeLessThan(FACTOR_MAX);
    }
  });
});
