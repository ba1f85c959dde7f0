import type { Address } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArrivalOrder } from './arrival-order.js';

const A = 1 as Address;
const B = 2 as Address;
const C = 3 as Address;

describe('the order of arrivals', () => {
  test('a quick message waits for the one before it from the same sender to the same receiver', () => {
    const order = new ArrivalOrder();
    expect(order.arrival(A, B, 10, 0)).toBe(10);
    expect(order.arrival(A, B, 4, 1)).toBe(10);
    expect(order.arrival(A, B, 12, 2)).toBe(12);
  });

  test('mail the other way, and of others, waits for nothing', () => {
    const order = new ArrivalOrder();
    order.arrival(A, B, 10, 0);
    expect(order.arrival(B, A, 4, 0)).toBe(4);
    expect(order.arrival(C, B, 4, 0)).toBe(4);
    expect(order.arrival(A, C, 4, 0)).toBe(4);
  });

  test('what was sent at this very time is known, and only that', () => {
    const order = new ArrivalOrder();
    expect(order.arrivalOfSameTime(A, B, 0)).toBeUndefined();
    order.arrival(A, B, 10, 0);
    order.arrival(A, B, 4, 1);
    expect(order.arrivalOfSameTime(A, B, 0)).toBeUndefined();
    expect(order.arrivalOfSameTime(A, B, 1)).toBe(10);
    expect(order.arrivalOfSameTime(B, A, 1)).toBeUndefined();
  });

  test('holds between all pairs, and none comes earlier than was drawn', () => {
    const party = fc.integer({ min: 0, max: 3 });
    const mail = fc.record({ from: party, to: party, gap: fc.nat(5), delay: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(mail, { maxLength: 200 }), (all) => {
        const order = new ArrivalOrder();
        const latest = new Map<string, number>();
        let now = 0;
        for (const { from, to, gap, delay } of all) {
          now += gap;
          const at = order.arrival(from as Address, to as Address, now + delay, now);
          expect(at).toBe(Math.max(now + delay, latest.get(`${from}>${to}`) ?? 0));
          latest.set(`${from}>${to}`, at);
        }
      }),
      { seed: 3 },
    );
  });

  test('what has arrived is forgotten, however many pairs have written', () => {
    const order = new ArrivalOrder();
    for (let i = 0; i < 100_000; i++) {
      order.arrival((i % 5_000) as Address, (i % 4_999) as Address, i + 100, i);
      expect(order.size).toBeLessThan(5_000);
    }
  });
});
