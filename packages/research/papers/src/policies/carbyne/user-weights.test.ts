import { PolicyBench, sharesOverNewWeights } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers } from '../../index.js';

addPapers();

test('drf follows the weights of users as soon as the operator changes them', () => {
  const bench = new PolicyBench('drf', 8, { options: { shareBy: 'user', quantumMs: 0 } });
  expect(sharesOverNewWeights(bench)).toEqual([
    [2, 6],
    [6, 2],
  ]);
});
