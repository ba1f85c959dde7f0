import { type Address, DEFAULT_POLICY, PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { type WaitingSlot, WaitingSlots } from './waiting-slots.js';

const slot = (ask: number): WaitingSlot => ({ worker: 1 as Address, ask, spare: {} });

function held(): WaitingSlots {
  return new WaitingSlots({
    joinedPolicy: { ...DEFAULT_POLICY, preset: PRESETS.goshawk, seriesMs: 100 },
    isCentralIdle: true,
  });
}

test('slots are reserved for a fifth of a series, and released in order', () => {
  const slots = held();
  for (const ask of [1, 2, 3]) slots.add(slot(ask), 10 * ask);
  expect(slots.nextReleaseAt).toBe(30);
  expect(slots.takeExpired(29)).toEqual([]);
  expect(slots.takeExpired(40)).toMatchObject([{ ask: 1 }, { ask: 2 }]);
  expect(slots.nextReleaseAt).toBe(50);
});

test('the last suitable slot is taken, once', () => {
  const slots = held();
  for (const ask of [1, 2, 3]) slots.add(slot(ask), 0);
  expect(slots.take(({ ask }) => ask < 3)).toMatchObject({ ask: 2 });
  expect(slots.take(({ ask }) => ask === 2)).toBeUndefined();
  expect(slots.takeExpired(20)).toMatchObject([{ ask: 1 }, { ask: 3 }]);
  expect(slots.isEmpty).toBe(true);
  expect(slots.nextReleaseAt).toBe(Number.POSITIVE_INFINITY);
});
