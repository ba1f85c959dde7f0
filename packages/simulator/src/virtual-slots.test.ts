import { describe, expect, test } from 'vitest';
import { NO_RUN, VirtualSlots } from './virtual-slots.js';

describe('the slots of all workers', () => {
  test('are adjacent for each worker, however many join, and start idle', () => {
    const slots = new VirtualSlots();
    const running = slots.begin(slots.add(3), 7, 100);
    expect(slots.add(1_000)).toBe(3);
    expect(slots.add(2)).toBe(1_003);
    expect(slots.size).toBe(1_005);
    expect(slots.isCurrent(0, running)).toBe(true);
    expect(slots.end(0, 10)).toBe(3);
    expect(slots.kill(1_004, 'timeout', 50)).toBe(NO_RUN);
  });

  test('a killed run ends under a new number, once, with the first reason', () => {
    const slots = new VirtualSlots();
    const place = slots.add(1);
    const run = slots.begin(place, 0, 100);
    const killed = slots.kill(place, 'timeout', 50);
    expect(slots.isCurrent(place, run)).toBe(false);
    expect(slots.isCurrent(place, killed)).toBe(true);
    expect(slots.kill(place, 'cancelled', 50)).toBe(NO_RUN);
    expect(slots.takeKilled(place)).toBe('timeout');
    expect(slots.takeKilled(place)).toBeUndefined();
  });

  test('an ended run cannot be killed, and a kill does not affect the next run', () => {
    const slots = new VirtualSlots();
    const place = slots.add(1);
    slots.begin(place, 0, 100);
    slots.end(place, 1);
    expect(slots.kill(place, 'cancelled', 50)).toBe(NO_RUN);
    slots.begin(place, 2, 100);
    slots.kill(place, 'cancelled', 50);
    slots.begin(place, 3, 100);
    expect(slots.takeKilled(place)).toBeUndefined();
  });

  test('a forgotten run never ends', () => {
    const slots = new VirtualSlots();
    const place = slots.add(1);
    const run = slots.begin(place, 0, 100);
    slots.remove(place);
    expect(slots.isCurrent(place, run)).toBe(false);
    expect(slots.kill(place, 'shutdown', 50)).toBe(NO_RUN);
  });
});
