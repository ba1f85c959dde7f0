import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { outcomesOf } from './outcomes.js';

it('outcomes are in the order of the items, although several are called at a time', async () => {
  let active = 0;
  let mostActive = 0;
  const call = async (item: number): Promise<number> => {
    mostActive = Math.max(mostActive, ++active);
    await setTimeout(item % 3);
    active--;
    if (item === 7) throw new Error('seven');
    return item;
  };
  const items = Array.from({ length: 50 }, (_, item) => item);
  const found: unknown[] = [];
  for await (const outcome of outcomesOf(items, call))
    found.push(outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message);
  expect(found).toEqual(items.map((item) => (item === 7 ? 'seven' : item)));
  expect(mostActive).toBe(16);
});
