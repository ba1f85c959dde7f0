import { POLICY_OPTIONS, withCustomModules } from '@goshawk/command/policy';
import { deciderOf, presetNamed } from '@goshawk/policies';
import { describe, expect, it } from 'vitest';
import { POLICY_SETTINGS, variantsOf } from './variants.js';

function variants(policy: string, { estimator = 'oracle', vary = [] as string[] } = {}) {
  const own = { policy, estimator, vary, stealCap: 10, stealing: true, load: 0.9 };
  return variantsOf(own, POLICY_OPTIONS).map(({ label, options }) => {
    const { stealCap, stealing } = options;
    return [label, options.policy, options.estimator, stealCap, stealing];
  });
}

describe('variants', () => {
  it('include each policy under its name', () => {
    expect(variants('hawk, sparrow')).toEqual([
      ['hawk', 'hawk', 'oracle', 10, true],
      ['sparrow', 'sparrow', 'oracle', 10, true],
    ]);
  });

  it('include one policy with and without additional settings', () => {
    expect(variants('hawk,hawk:no-stealing,hawk:steal-cap=1')).toEqual([
      ['hawk', 'hawk', 'oracle', 10, true],
      ['hawk:no-stealing', 'hawk', 'oracle', 10, false],
      ['hawk:steal-cap=1', 'hawk', 'oracle', 1, true],
    ]);
  });

  it('include each estimator and each combination of values', () => {
    expect(variants('hawk', { estimator: 'oracle,pilot', vary: ['steal-cap=1,30'] })).toEqual([
      ['hawk estimator=oracle steal-cap=1', 'hawk', 'oracle', 1, true],
      ['hawk estimator=oracle steal-cap=30', 'hawk', 'oracle', 30, true],
      ['hawk estimator=pilot steal-cap=1', 'hawk', 'pilot', 1, true],
      ['hawk estimator=pilot steal-cap=30', 'hawk', 'pilot', 30, true],
    ]);
  });

  it('apply options of policies to those that have them, as settings of an entry and with --vary', async () => {
    await withCustomModules({ policy: 'tetris' }, '/');
    const { options } = deciderOf(presetNamed('tetris')).module;
    const name = Object.keys(options).find((each) => typeof options[each]!.default === 'number')!;
    const own = { estimator: 'oracle', set: ['other=5'] };
    const sets = (policy: string, vary: string[]) =>
      variantsOf({ ...own, policy, vary }, POLICY_SETTINGS).map(({ label, options }) => [label, options.set]);
    expect(sets(`tetris:${name}=1`, [])).toEqual([[`tetris:${name}=1`, ['other=5', `${name}=1`]]]);
    const found = sets(`tetris,sparrow`, [`${name}=1,2`]);
    expect(found.map(([label]) => label)).toEqual([`tetris ${name}=1`, `tetris ${name}=2`, 'sparrow']);
    expect(found[2]![1]).toEqual(['other=5']);
  });

  it.each<[string, string[], string]>([
    ['hawk,hawk', [], '--policy lists hawk twice'],
    ['hawk:no-steal', [], '--policy: unknown setting "steal"'],
    ['hawk', ['steal-cup=1,2'], '--vary: unknown setting "steal-cup"; did you mean steal-cap?'],
    ['hawk', ['steal-cap'], '--vary: "steal-cap" is not NAME=VALUE,VALUE,…'],
    ['hawk', ['steal-cap=1,x'], '--steal-cap: "x" is not a whole number'],
    ['hawk', ['steal-cap=1,1'], '--policy lists hawk steal-cap=1 twice'],
  ])('%j with %j is refused', (policy, vary, message) => {
    expect(() => variants(policy, { vary })).toThrow(message);
  });

  it('an unknown option of a policy is refused with those that the policy has', () => {
    const hint = expect.stringMatching(/^options of hawk: none; known settings are /);
    expect(() => variants('hawk:ageing=1')).toThrow(expect.objectContaining({ hint }));
  });
});
