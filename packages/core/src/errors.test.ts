import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeThrownIn, fileProblem, messageOfThrown } from './errors.js';
import { LIMITS } from './limits.js';
import { thrownKinds, thrownOf } from './testing.fixture.js';

it.each([
  ['an error', () => new Error('lost my way'), /^Error: lost my way \(errors\.test\.ts:\d+:\d+\)$/],
  ['text', () => 'no way', /^no way$/],
  ['an object without text', () => Object.create(null), /^a value without text$/],
  [
    'an error without text',
    () => Object.assign(new Error('x'), { message: undefined }),
    /^a value without text$/,
  ],
])('describes %s that a custom policy threw', (_, make, text) => {
  expect(describeThrownIn(make(), 'errors.test.ts')).toMatch(text);
});

it('describes whatever code of users may throw', () => {
  fc.assert(
    fc.property(thrownKinds, (kind) => {
      const thrown = thrownOf(kind);
      expect(describeThrownIn(thrown, 'policy.mjs').length).toBeLessThanOrEqual(LIMITS.lineLengthMax);
      expect(typeof messageOfThrown(thrown)).toBe('string');
      expect(['string', 'undefined']).toContain(typeof fileProblem(thrown));
    }),
    { numRuns: 1_000 },
  );
});
