import { describe, expect, test } from 'vitest';
import { playHostile } from './hostile-run.js';

/** FUZZ_SEEDS=1000 looks longer. */
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 60);
/** FUZZ_SEED='client 7' plays one run again. */
const ONE_SEED = process.env.FUZZ_SEED;

describe('no message makes a machine throw or become inconsistent', () => {
  test.each(['client', 'worker', 'scheduler', 'central'] as const)(
    `not a %s (${SEEDS} seeds)`,
    { timeout: 1_000 * SEEDS },
    (role) => {
      for (let i = 0; i < SEEDS; i++) {
        const seed = `${role} ${i}`;
        if (ONE_SEED !== undefined && ONE_SEED !== seed) continue;
        const again = `FUZZ_SEED='${seed}' npx vitest run --project long test/src/fuzz/hostile`;
        expect(() => playHostile(seed, role), `play it again: ${again}`).not.toThrow();
      }
    },
  );
});
