import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_MESSAGE_LENGTH_MAX } from './limits.js';
import { describeThrown } from './thrown.js';

describe('a thrown value', () => {
  const error = (message: string, rest: ErrorOptions & { stack?: string; code?: string } = {}) =>
    Object.assign(new Error(message, rest), { stack: '', ...rest });
  const refused = error('connect ECONNREFUSED 127.0.0.1:1');
  const circular = error('a');
  circular.cause = circular;

  it.each([
    [error('bad\nthing'), 'Error: bad thing'],
    [
      error('fetch failed', { cause: refused }),
      'Error: fetch failed; cause: Error: connect ECONNREFUSED 127.0.0.1:1',
    ],
    [
      error('outer', { cause: error('middle', { cause: 'inner' }) }),
      'Error: outer; cause: Error: middle; cause: inner',
    ],
    [
      Object.assign(new AggregateError([refused, 'b'], ''), { stack: '', code: 'ECONNREFUSED' }),
      'AggregateError: ECONNREFUSED; cause: Error: connect ECONNREFUSED 127.0.0.1:1, b',
    ],
    [circular, 'Error: a; cause: Error: a; cause: Error: a; cause: Error: a'],
    ['text', 'text was thrown, which is not an Error'],
    [null, 'null was thrown, which is not an Error'],
    [
      { code: 'E1', message: 'custom' },
      "{ code: 'E1', message: 'custom' } was thrown, which is not an Error",
    ],
  ])('%o', (thrown, text) => {
    expect(describeThrown(thrown)).toBe(text);
  });

  it('of any kind has one line', () => {
    fc.assert(
      fc.property(thrownKinds, (kind) => {
        const text = describeThrown(thrownOf(kind));
        expect(text).not.toMatch(/\n|^$/);
        expect(text.length).toBeLessThanOrEqual(ERROR_MESSAGE_LENGTH_MAX + 1);
      }),
    );
  });

  it('was thrown in a file of the user', () => {
    const own = new URL('./module-thread.js', import.meta.url).href;
    const stack = [
      'Error: x',
      '    at node:internal/deps/undici/undici:1:1',
      `    at async attempt (${own}:69:17)`,
      '    at work (file:///w/m.mjs:2:3)',
    ];
    expect(describeThrown(error('x', { stack: stack.join('\n') }))).toBe(
      'Error: x (at work (file:///w/m.mjs:2:3))',
    );
    expect(describeThrown(error('x', { stack: stack.slice(0, 3).join('\n') }))).toBe('Error: x');
  });
});
