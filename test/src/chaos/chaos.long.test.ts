import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { drawPlan, FAULT_FREE, OUTAGES, SHARED } from './draw-plan.js';
import { knownNames, knownPath, readKnown, textOf } from './known.js';
import { play } from './run.js';

/** Seeds played here; `npm run chaos` plays more. */
const SEEDS = 200;
const SHARED_SEEDS = 100;
const FAULT_FREE_SEEDS = 60;
const OUTAGE_SEEDS = 60;
const PARTS = 10;
/** First seed, which differs between runs; `.ci/run` derives it from the commit. */
const FRESH = Number(process.env.FRESH_SEEDS ?? Date.now() % 2 ** 32);
const FRESH_SEEDS = 50;

describe('invariants hold under all faults', () => {
  test.each(Array.from({ length: PARTS }, (_, part) => part))(
    `in clusters of seeds ${SEEDS / PARTS} × %s and on`,
    async (part) => {
      for (let i = 0; i < SEEDS / PARTS; i++) {
        const seed = String((part * SEEDS) / PARTS + i);
        const { complaints } = await play(drawPlan(seed));
        expect(complaints, `play it again: npm run chaos -- --seed ${seed}`).toEqual([]);
      }
    },
  );

  test.each(Array.from({ length: PARTS }, (_, part) => part))(
    `where schedulers share a journal, in clusters of seeds ${SHARED_SEEDS / PARTS} × %s and on`,
    async (part) => {
      for (let i = 0; i < SHARED_SEEDS / PARTS; i++) {
        const seed = (part * SHARED_SEEDS) / PARTS + i;
        const { complaints } = await play(drawPlan(`${SHARED}${seed}`));
        expect(complaints, `play it again: npm run chaos -- --shared --seed ${seed}`).toEqual([]);
      }
    },
  );

  test('without faults, only with delays', async () => {
    for (let seed = 0; seed < FAULT_FREE_SEEDS; seed++) {
      const { complaints } = await play(drawPlan(`${FAULT_FREE}${seed}`));
      expect(complaints, `play it again: npm run chaos -- --fault-free --seed ${seed}`).toEqual([]);
    }
  });

  test('with limits of users, which hold while central is down and after its restart', async () => {
    for (let seed = 0; seed < OUTAGE_SEEDS; seed++) {
      const { complaints } = await play(drawPlan(`${OUTAGES}${seed}`));
      expect(complaints, `play it again: npm run chaos -- --outages --seed ${seed}`).toEqual([]);
    }
  });

  test('in clusters of new seeds', async () => {
    for (let seed = FRESH; seed < FRESH + FRESH_SEEDS; seed++) {
      const { complaints } = await play(drawPlan(String(seed)));
      expect(complaints, `play it again: npm run chaos -- --seed ${seed}`).toEqual([]);
    }
  });

  test('a seed gives the same run every time', async () => {
    const linesOf = async (): Promise<string[]> => {
      const lines: string[] = [];
      await play(drawPlan('9'), (line) => lines.push(line));
      return lines;
    };
    expect(await linesOf()).toEqual(await linesOf());
  });
});

describe('recorded failures do not return', () => {
  test('each is stored as it is written, with an order or a fault per line', () => {
    for (const name of knownNames())
      expect(readFileSync(knownPath(name), 'utf8')).toBe(textOf(readKnown(name)));
  });

  test.each(knownNames())('%s', async (name) => {
    const { plan, open } = readKnown(name);
    const { complaints } = await play(plan);
    // A known failure stays recorded until it is fixed; its file must then be updated.
    if (open === undefined) expect(complaints).toEqual([]);
    else expect(complaints).not.toEqual([]);
  });
});
