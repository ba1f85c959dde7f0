import { type Address, DEFAULT_POLICY, PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { type HeldSlot, HeldSlots } from './held-slots.js';

const slot = (ask: number): HeldSlot => ({ worker: 1 as Address, ask, spare: {} });

function held(): HeldSlots {
  return new HeldSlots({
    policy: { ...DEFAULT_POLICY, preset: PRESETS.goshawk, seriesMs: 100 },
    isCentralIdle: true,
  });
}

test('slots are reserved for a fifth of a series, and released in order', () => {
  const slots = held();
  for (const ask of [1, 2, 3]) slots.hold(slot(ask), 10 * ask);
  expect(slots.nextAt).toBe(30);
  expect(slots.takeOverdue(29)).toEqual([]);
  expect(slots.takeOverdue(40)).toMatchObject([{ ask: 1 }, { ask: 2 }]);
  expect(slots.nextAt).toBe(50);
});

test('the last suitable slot is taken, once', () => {
  const slots = held();
  for (const ask of [1, 2, 3]) slots.hold(slot(ask), 0);
  expect(slots.take(({ ask }) => ask < 3)).toMatchObject({ ask: 2 });
  expect(slots.take(({ ask }) => ask === 2)).toBeUndefined();
  expect(slots.takeOverdue(20)).toMatchObject([{ ask: 1 }, { ask: 3 }]);
  expect(slots.isEmpty).toBe(true);
  expect(slots.nextAt).toBe(Number.POSITIVE_INFINITY);
});
