import { expect, test } from 'vitest';
import { steadyOffset } from './scheduler.js';

test('the offset of the wall clock stays while both clocks agree, and follows when the wall clock was set', () => {
  let offset = 1_000;
  const held = steadyOffset(() => offset);
  offset = 1_000.7;
  expect(held()).toBe(1_000);
  offset = 5_000;
  expect(held()).toBe(5_000);
  offset = 4_999.5;
  expect(held()).toBe(5_000);
});
