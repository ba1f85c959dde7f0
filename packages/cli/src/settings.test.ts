import type { OptionSpec } from '@goshawk/command';
import { describe, expect, it } from 'vitest';
import { GOSHAWK } from './commands/index.js';

/** Settings whose default differs between commands on purpose, with the reason. */
const DIFFERENT_DEFAULTS: Readonly<Record<string, string>> = {
  workers: 'a process has one, a local cluster 100, and comparisons list sizes',
  schedulers: 'the prototype of Hawk has ten',
  bind: 'clients know the port of central',
  dataFolder: 'only `up` has a folder of its own',
  runAs: 'accounts of the machine decide for `up`',
  policy: 'comparisons take several policies',
  estimator: 'simulations know the run times, unless they say otherwise',
  shortPartition: 'a simulation has no workload to learn it from',
  probeDraw: 'simulations follow the papers',
  stealRetry: 'simulations follow the papers',
  cancel: 'simulations follow the papers',
  load: 'a simulation may have a number of workers instead',
  networkDelay: 'a recorded cluster has one, a simulation draws it',
};

/** All options that variables and files set, by the name of the setting. */
async function settings(): Promise<Map<string, { readonly command: string; readonly spec: OptionSpec }[]>> {
  const found = new Map<string, { command: string; spec: OptionSpec }[]>();
  for (const { name: command, options } of await GOSHAWK.all()) {
    for (const [name, spec] of Object.entries<OptionSpec>(options)) {
      if (spec.flagOnly) continue;
      const setting = spec.setting ?? name;
      found.set(setting, [...(found.get(setting) ?? []), { command, spec }]);
    }
  }
  return found;
}

function defaultOf(spec: OptionSpec): unknown {
  return 'default' in spec ? spec.default : undefined;
}

describe('a setting', () => {
  it('has one default for all commands that it configures, unless they differ on purpose', async () => {
    const different = [...(await settings())].flatMap(([setting, users]) => {
      const defaults = new Set(users.map(({ spec }) => JSON.stringify(defaultOf(spec))));
      return defaults.size > 1 ? [setting] : [];
    });
    expect(different.toSorted()).toEqual(Object.keys(DIFFERENT_DEFAULTS).toSorted());
  });

  it('does not limit what a list shows, which is a matter of one command line', async () => {
    const names = [...(await settings()).keys()];
    expect(names.filter((name) => ['limit', 'from', 'csv'].includes(name))).toEqual([]);
  });
});

it('is never named by its negation, which the parser reads as another option', async () => {
  const names = (await GOSHAWK.all()).flatMap(({ name: command, options }) =>
    Object.keys(options).map((name) => `${command} ${name}`),
  );
  expect(names.filter((name) => / no[A-Z]/.test(name))).toEqual([]);
});
