import { OWNER, PolicyBench } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers } from '../../index.js';
import type { CARBYNE_POLICIES } from './table.js';

addPapers();

test.each(['carbyne', 'drf', 'srtf', 'tetris', 'pack'] satisfies (keyof typeof CARBYNE_POLICIES)[])(
  'under %s a task for which a worker is not wanted goes to another one',
  (policy) => {
    const bench = new PolicyBench(policy, 3, { options: { quantumMs: 0 } });
    bench.books.declare(OWNER, 1, { arrivedAt: 0, isDeclared: true });
    bench.need(1, {});
    const [first] = bench.takePlaces()[0]!.slice(1) as [number];
    bench.end(1, 'declined');
    bench.need(1, {});
    const [second] = bench.takePlaces()[0]!.slice(1) as [number];
    expect(second).not.toBe(first);
  },
);
