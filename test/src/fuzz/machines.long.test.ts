import { describe, expect, test } from 'vitest';
import { FAULT_PROFILES } from './fault-profiles.js';
import { complaintsAbout, FuzzRun } from './run.js';
import { drawScenario } from './scenario.js';

/** FUZZ_SEEDS=1000 looks longer. */
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 60);
/** FUZZ_SEED='dying workers 7' plays one run again, and prints every message. */
const ONE_SEED = process.env.FUZZ_SEED;

/** @returns everything that is wrong with the run, a line each */
function play(seed: string, log?: (line: string) => void): string[] {
  const faultProfile = FAULT_PROFILES[seed.replace(/ \d+$/, '')];
  if (faultProfile === undefined) throw new Error(`no faultProfile is called so: ${seed}`);
  try {
    return complaintsAbout(new FuzzRun(drawScenario(seed, faultProfile), log).play());
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

if (ONE_SEED === undefined) {
  describe('every job ends, nothing runs twice, and nothing is left', () => {
    test.each(Object.keys(FAULT_PROFILES))(`with %s (${SEEDS} seeds)`, { timeout: 1_000 * SEEDS }, (name) => {
      for (let i = 0; i < SEEDS; i++) {
        const seed = `${name} ${i}`;
        const again = `FUZZ_SEED='${seed}' npx vitest run --project long test/src/fuzz`;
        expect(play(seed), `play it again: ${again}`).toEqual([]);
      }
    });

    test('a seed gives the same run every time', () => {
      const play = () => {
        const lines: string[] = [];
        new FuzzRun(drawScenario('everything at once 1', FAULT_PROFILES['everything at once']!), (line) =>
          lines.push(line),
        ).play();
        return lines;
      };
      expect(play()).toEqual(play());
    });
  });
} else {
  test(ONE_SEED, () => {
    expect(play(ONE_SEED, (line) => console.log(line))).toEqual([]);
  });
}
