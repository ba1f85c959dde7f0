import { LIVE_TIMINGS, type Role } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Draw } from '../drawing/draw.js';
import { drawSettings } from '../drawing/settings.js';
import { SteppedCluster } from '../stepped/stepped-cluster.js';
import { HostileMessages } from './hostile.js';

/** FUZZ_SEEDS=1000 looks longer. */
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 60);
/** FUZZ_SEED='client 7' plays one run again. */
const ONE_SEED = process.env.FUZZ_SEED;
const STEPS = 200;

/** Somebody of a role says anything to anybody, while the cluster goes on. Each step checks invariants. */
function play(seed: string, role: Role): void {
  const draw = new Draw(seed);
  const settings = { ...drawSettings(draw, ['given', 'pilot']), timings: LIVE_TIMINGS };
  const cluster = new SteppedCluster({ settings, seed });
  const messages = new HostileMessages(draw, () => [...cluster.parties.keys()]);
  cluster.addCentral();
  for (const name of ['s1', 's2']) cluster.addScheduler(name);
  for (const name of ['w1', 'w2', 'w3']) cluster.addWorker(name, 2, { cpu: 2, memory: 1e9 });
  cluster.addClient('c1');
  for (let step = 0; step < STEPS; step++) {
    // A cluster that has come together, first.
    if (step > 20 && draw.chance(0.5)) {
      const from = draw.pick(cluster.alive(role));
      const to = draw.pick([...cluster.parties.values()].filter((party) => party !== from));
      const message = messages.message(role, to.role);
      if (message !== undefined) cluster.sendAs(from, to, message);
    } else if (draw.chance(0.5)) cluster.happenNext();
    cluster.deliverAll(() => draw.chance(0.8));
  }
  cluster.close();
}

describe('nothing that one says makes a machine throw or contradict itself', () => {
  test.each(['client', 'worker', 'scheduler', 'central'] as const)(
    `not a %s (${SEEDS} seeds)`,
    { timeout: 1_000 * SEEDS },
    (role) => {
      for (let i = 0; i < SEEDS; i++) {
        const seed = `${role} ${i}`;
        if (ONE_SEED !== undefined && ONE_SEED !== seed) continue;
        const again = `FUZZ_SEED='${seed}' npx vitest run --project long test/src/fuzz/hostile`;
        expect(() => play(seed, role), `play it again: ${again}`).not.toThrow();
      }
    },
  );
});
