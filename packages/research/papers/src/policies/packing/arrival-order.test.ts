import { Needs, Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { ArrivalOrder } from './arrival-order.js';
import type { Group } from './group.js';

test.each([1, 2, 3])(
  'the head is the oldest waiting group, after any removals and returns: seed %i',
  (seed) => {
    const random = Random.seeded(seed);
    const draw = (count: number) => Math.floor(random.next() * count);
    const orders = [new ArrivalOrder(), new ArrivalOrder()];
    const groups: Group[][] = [[], []];
    const gone: number[][] = [[], []];
    for (let step = 0; step < 5000; step++) {
      const at = draw(2);
      const [order, mine] = [orders[at]!, groups[at]!];
      const luck = draw(10);
      // Grows for the first half, then shrinks.
      if (luck < (step < 2500 ? 5 : 3)) {
        const sequence = (luck === 0 ? gone[at]!.pop() : undefined) ?? step;
        const group = { sequence, size: 1, family: 0, needs: new Needs(0, [], undefined), count: 1 };
        order.add(group);
        mine.push(group);
        mine.sort((one, other) => one.sequence - other.sequence);
      } else if (mine.length > 0) {
        const [group] = mine.splice(luck < 8 ? 0 : draw(mine.length), 1) as [Group];
        group.count = 0;
        order.remove(group);
        gone[at]!.push(group.sequence);
      }
      expect(order.head()).toBe(mine[0]);
    }
  },
);
