import { describe, expect, it } from 'vitest';
import { addOwnPolicy, makePolicy, policyModule, presetNamed } from './table.js';

const whole = { title: 'mine', declares: true, options: {}, make: () => ({ heard() {}, plan() {} }) };

describe('a custom policy', () => {
  it('has a name and a path', () => {
    addOwnPolicy('./mine.js', '/there/mine.js', {
      ...whole,
      options: { pace: { default: 2, min: 1, help: 'how fast' } },
    });
    expect(presetNamed('./mine.js')).toMatchObject({
      title: 'mine',
      declares: true,
      byClass: false,
      decidedBy: { policy: '/there/mine.js' },
    });
    expect(policyModule('/there/mine.js').options.pace?.default).toBe(2);
    const context = { cutoffMs: 1, sizesAreGiven: true, reserve: 'auto', random: () => 0 } as const;
    expect(() => makePolicy('/there/mine.js', { pace: 0 }, context)).toThrow(
      'pace: expected a number from 1',
    );
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'its default export is not an object'],
    ['a function', () => {}, 'its default export is not an object'],
    ['no title', { ...whole, title: 7 }, '"title" is not text'],
    ['no word on declaring', { ...whole, declares: undefined }, '"declares" is neither true'],
    ['no options', { ...whole, options: undefined }, '"options" is not an object'],
    ['an option without help', { ...whole, options: { pace: { default: 2 } } }, 'option "pace"'],
    ['an option of null', { ...whole, options: { pace: null } }, 'option "pace"'],
    ['gangs that are a number', { ...whole, gangs: 1 }, '"gangs" is neither true nor false'],
    ['one that abandons', { ...whole, abandons: true }, '"abandons" is not a function'],
    ['a solver without a cycle', { ...whole, solves: true }, 'needs an option "cycleMs"'],
    ['nothing to make it', { ...whole, make: 'it' }, '"make" is not a function'],
    ['nothing made', { ...whole, make: () => null }, 'has no function "heard"'],
    ['nobody who plans', { ...whole, make: () => ({ heard() {} }) }, 'has no function "plan"'],
    [
      'one that throws when it is made',
      {
        ...whole,
        make: () => {
          throw new Error('not today');
        },
      },
      '"make" throws Error: not today',
    ],
    [
      'one that plans later',
      { ...whole, make: () => ({ heard() {}, plan: async () => Promise.reject(new Error('late')) }) },
      '"plan" is asynchronous; a policy must return synchronously',
    ],
    [
      'made later',
      { ...whole, make: async () => Promise.reject(new Error('late')) },
      '"make" is asynchronous',
    ],
    [
      'one that needs a cluster',
      { ...whole, make: () => ({ heard() {}, plan: (c: never) => (c as { x: { y: 1 } }).x.y }) },
      'it cannot plan for an empty cluster: TypeError',
    ],
  ])('that is %s is refused in one line', (_, exported, line) => {
    expect(() => addOwnPolicy('./mine.js', '/there/mine.js', exported)).toThrow(`--policy ./mine.js: `);
    expect(() => addOwnPolicy('./mine.js', '/there/mine.js', exported)).toThrow(line);
  });
});
