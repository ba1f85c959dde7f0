import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { ArrivalOrder } from './arrival-order.js';
import { Waiting } from './waiting.js';

test.each([1, 2, 3])('the head is the oldest that waits, whoever goes and comes back: seed %i', (seed) => {
  const random = Random.seeded(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  const waiting = new Waiting();
  const orders = [new ArrivalOrder(waiting), new ArrivalOrder(waiting)];
  const groups: [sequence: number, group: number][][] = [[], []];
  const gone: number[][] = [[], []];
  for (let step = 0; step < 5000; step++) {
    const at = draw(2);
    const [order, mine] = [orders[at]!, groups[at]!];
    const luck = draw(10);
    // Grows for the first half, then shrinks.
    if (luck < (step < 2500 ? 5 : 3)) {
      const sequence = luck === 0 ? gone[at]!.pop() : undefined;
      const group = waiting.add(1, 1, 0, sequence);
      order.add(group);
      mine.push([waiting.sequence[group]!, group]);
      mine.sort(([one], [other]) => one - other);
    } else if (mine.length > 0) {
      const [[sequence, group]] = mine.splice(luck < 8 ? 0 : draw(mine.length), 1) as [[number, number]];
      order.remove(group);
      waiting.grow(group, -1);
      gone[at]!.push(sequence);
    }
    expect(order.head()).toBe(mine[0]?.[1] ?? -1);
  }
});
