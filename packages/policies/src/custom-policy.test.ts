import { InputError } from '@goshawk/core';
import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addCustomPolicy, decidedWith, makePolicy, policyModule, presetNamed } from './table.js';

const CONTEXT = { cutoffMs: 1, sizesAreGiven: true, reserve: 'auto', random: () => 0 } as const;
const whole = { title: 'mine', declares: true, options: {}, make: () => ({ update() {}, plan() {} }) };

describe('a custom policy', () => {
  it('is found by its name and by its path', () => {
    addCustomPolicy('./mine.js', '/there/mine.js', {
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
    expect(() => makePolicy('/there/mine.js', { pace: 0 }, CONTEXT)).toThrow(
      'pace: expected a number from 1',
    );
  });

  it('is refused in one line whatever `make` and `abandons` throw, also if it has been made before', () => {
    fc.assert(
      fc.property(thrownKinds, (kind) => {
        let isChecked = false;
        const fails = (): never => {
          throw thrownOf(kind);
        };
        const make = () => (isChecked ? fails() : whole.make());
        const add = () => addCustomPolicy('./late.js', '/there/late.js', { ...whole, make, abandons: fails });
        add();
        isChecked = true;
        expect(() => makePolicy('/there/late.js', {}, CONTEXT)).toThrow(InputError);
        expect(() => decidedWith(presetNamed('./late.js'), {})).toThrow(InputError);
        expect(add).toThrow(InputError);
      }),
    );
  });

  it('is refused if a later policy lacks a function', () => {
    let made = 0;
    const make = () => (made++ === 0 ? whole.make() : { update() {} });
    addCustomPolicy('./less.js', '/there/less.js', { ...whole, make });
    expect(() => makePolicy('/there/less.js', {}, CONTEXT)).toThrow('has no function "plan"');
  });

  it.each<[string, unknown, string]>([
    ['no default export', undefined, 'its default export is not an object'],
    ['a function as default export', () => {}, 'its default export is not an object'],
    ['no title', { ...whole, title: 7 }, '"title" is not one line of text'],
    ['two lines as title', { ...whole, title: 'a\nb' }, '"title" is not one line of text'],
    ['a typo', { ...whole, gang: true }, 'there is no field "gang"; did you mean "gangs"?'],
    [
      'a typo in an option',
      { ...whole, options: { pace: { default: 2, help: '', mix: 1 } } },
      'option "pace": there is no field "mix"; did you mean "min"?',
    ],
    [
      'NaN as a bound',
      { ...whole, options: { pace: { default: 2, help: '', max: Number.NaN } } },
      '"max" of option "pace" is not a number',
    ],
    [
      'a text as choices',
      { ...whole, options: { pace: { default: 'a', help: '', choices: 'ab' } } },
      '"choices" of option "pace" is not a list',
    ],
    ['no declares', { ...whole, declares: undefined }, '"declares" is neither true'],
    ['no options', { ...whole, options: undefined }, '"options" is not an object'],
    ['an option without help', { ...whole, options: { pace: { default: 2 } } }, 'option "pace"'],
    ['an option of null', { ...whole, options: { pace: null } }, 'option "pace"'],
    ['a number as gangs', { ...whole, gangs: 1 }, '"gangs" is neither "asked"'],
    ['true as gangs', { ...whole, gangs: true }, '"gangs" is neither "asked"'],
    ['a number as packs', { ...whole, packs: 1 }, '"packs" is neither true nor false'],
    ['true as abandons', { ...whole, abandons: true }, '"abandons" is not a function'],
    ['a solver without a cycle', { ...whole, solves: true }, 'needs an option "cycleMs"'],
    ['a text as make', { ...whole, make: 'it' }, '"make" is not a function'],
    ['no policy from make', { ...whole, make: () => null }, 'has no function "update"'],
    [
      'a policy without update',
      { ...whole, make: () => ({ heard() {}, plan() {} }) },
      'has no function "update"',
    ],
    ['a policy without plan', { ...whole, make: () => ({ update() {} }) }, 'has no function "plan"'],
    [
      'a make that throws',
      {
        ...whole,
        make: () => {
          throw new Error('not today');
        },
      },
      '"make" throws Error: not today',
    ],
    [
      'an async plan',
      { ...whole, make: () => ({ update() {}, plan: async () => Promise.reject(new Error('late')) }) },
      '"plan" is asynchronous; a policy must return synchronously',
    ],
    [
      'an async make',
      { ...whole, make: async () => Promise.reject(new Error('late')) },
      '"make" is asynchronous',
    ],
    [
      'a plan that fails on an empty cluster',
      { ...whole, make: () => ({ update() {}, plan: (c: never) => (c as { x: { y: 1 } }).x.y }) },
      'it cannot plan for an empty cluster: TypeError',
    ],
  ])('is refused in one line if its file has %s', (_, exported, line) => {
    expect(() => addCustomPolicy('./mine.js', '/there/mine.js', exported)).toThrow(`--policy ./mine.js: `);
    expect(() => addCustomPolicy('./mine.js', '/there/mine.js', exported)).toThrow(line);
  });
});
