import { PAPER_POLICY_NAMES } from '@goshawk/core';
import { expect, test } from 'vitest';
import { PAPER_POLICIES } from './index.js';

test('core names the policies that this package has, in the same order', () => {
  expect(PAPER_POLICY_NAMES).toEqual(Object.keys(PAPER_POLICIES));
});
