import { POLICY_OPTIONS, SHARING_POLICIES, settingsUsedBy } from '@goshawk/command/policy';
import type { Preset } from '@goshawk/core';
import { addPapers, PAPER_POLICIES } from '@goshawk/papers';
import { ALL_POLICY_NAMES, deciderOf, presetNamed } from '@goshawk/policies';
import { describe, expect, it, test } from 'vitest';
import { runHere } from '../terminal.fixture.js';

addPapers();

const goshawk = (...argv: string[]) => runHere(['policies', ...argv], { cwd: '/', environment: {} });

describe('goshawk policies', () => {
  it('lists every policy with its title', async () => {
    const { stdout, exitCode } = await goshawk();
    expect(exitCode).toBe(0);
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
    for (const name of ALL_POLICY_NAMES) expect(lines).toContainEqual([name, presetNamed(name).title]);
  });

  it('lists the options of a policy with defaults, bounds and flags', async () => {
    const { stdout } = await goshawk('gs', '--json');
    const { policies } = JSON.parse(stdout) as { policies: { name: string; options: { name: string }[] }[] };
    expect(policies.map(({ name }) => name)).toEqual(['gs']);
    expect(policies[0]!.options.map(({ name }) => name)).toEqual(Object.keys(PAPER_POLICIES.gs!.options));
    expect(policies[0]!.options).toContainEqual({
      name: 'weightRatio',
      flag: '--set weightRatio=',
      default: 10,
      values: 'from 1 to 1000000',
      help: 'ratio of weights between one queue and the next',
    });
    expect(policies[0]!.options).toContainEqual(expect.objectContaining({ name: 'by', flag: '--estimator' }));
  });

  it('lists only the settings that a policy uses', async () => {
    const { stdout } = await goshawk('hawk');
    expect(stdout).toMatch(/^--steal-cap +10 +workers that an idle worker contacts/m);
    expect(stdout).not.toContain('--share-by');
    expect((await goshawk('drf')).stdout).toContain('--share-by');
  });

  it('knows the policies that use each setting', () => {
    const used = ALL_POLICY_NAMES.flatMap((name) =>
      settingsUsedBy(presetNamed(name)).map(([setting]) => setting),
    );
    const apart = ['policy', 'estimator', 'cutoff', 'set'];
    expect(new Set([...used, ...apart])).toEqual(new Set(Object.keys(POLICY_OPTIONS)));
  });

  it('rejects an unknown name', async () => {
    const { exitCode, stderr } = await goshawk('hauk');
    expect([exitCode, stderr]).toEqual([2, 'goshawk: unknown policy "hauk"; did you mean "hawk"?\n']);
    expect((await goshawk('3sigma')).stderr).toBe(
      'goshawk: unknown policy "3sigma"; did you mean "3sigma-sched"?\n',
    );
  });
});

test('hints name the sharing policies and the packing policies', () => {
  const having = (is: (preset: Preset) => boolean) =>
    ALL_POLICY_NAMES.filter((name) => is(presetNamed(name)));
  expect(SHARING_POLICIES).toEqual(having((preset) => 'shareBy' in deciderOf(preset).module.options));
});
