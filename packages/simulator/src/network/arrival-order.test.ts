import type { Address } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArrivalOrder } from './arrival-order.js';

const A = 1 as Address;
const B = 2 as Address;
const C = 3 as Address;

describe('the order of arrivals', () => {
  test('a fast message waits for the previous one from the same sender to the same receiver', () => {
    const order = new ArrivalOrder();
    expect(order.arrival(A, B, 10, 0)).toBe(10);
    expect(order.arrival(A, B, 4, 1)).toBe(10);
    expect(order.arrival(A, B, 12, 2)).toBe(12);
  });

  test('messages in the other direction, and of other parties, do not wait', () => {
    const order = new ArrivalOrder();
    order.arrival(A, B, 10, 0);
    expect(order.arrival(B, A, 4, 0)).toBe(4);
    expect(order.arrival(C, B, 4, 0)).toBe(4);
    expect(order.arrival(A, C, 4, 0)).toBe(4);
  });

  test('messages sent at the current time are known, and no others', () => {
    const order = new ArrivalOrder();
    expect(order.arrivalOfSameTime(A, B, 0)).toBeUndefined();
    order.arrival(A, B, 10, 0);
    order.arrival(A, B, 4, 1);
    expect(order.arrivalOfSameTime(A, B, 0)).toBeUndefined();
    expect(order.arrivalOfSameTime(A, B, 1)).toBe(10);
    expect(order.arrivalOfSameTime(B, A, 1)).toBeUndefined();
  });

  test('holds for all pairs, and no message arrives earlier than drawn', () => {
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

  test('arrived messages are forgotten, however many pairs there are', () => {
    const order = new ArrivalOrder();
    for (let i = 0; i < 100_000; i++) {
      order.arrival((i % 5_000) as Address, (i % 4_999) as Address, i + 100, i);
      expect(order.size).toBeLessThan(5_000);
    }
  });
});
