import { GLOBAL_OPTIONS, kebab, type OptionSpec, settingName, variableOf } from '@goshawk/command';
import { VARIABLES_OF_OTHERS } from '@goshawk/command/program';
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
};

/** All options that variables and files set, by the name of the setting. */
async function settings(): Promise<Map<string, { readonly command: string; readonly spec: OptionSpec }[]>> {
  const found = new Map<string, { command: string; spec: OptionSpec }[]>();
  const commands = [{ name: '', options: GLOBAL_OPTIONS }, ...(await GOSHAWK.all())];
  for (const { name: command, options } of commands) {
    for (const [name, spec] of Object.entries<OptionSpec>(options)) {
      const setting = settingName(name, spec);
      if (setting === undefined) continue;
      found.set(setting, [...(found.get(setting) ?? []), { command, spec }]);
    }
  }
  return found;
}

/** Returns what a setting means: its type, its choices, and the head of its description, without details. */
function meaningOf(spec: OptionSpec): string {
  const choices = 'choices' in spec ? spec.choices : undefined;
  return JSON.stringify([spec.type, choices, spec.describe.split(/[,;:.(]/)[0]!.trim()]);
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

  it('means the same for all commands that it configures', async () => {
    const different = [...(await settings())].flatMap(([setting, users]) => {
      const meanings = new Map(users.map(({ command, spec }) => [meaningOf(spec), command]));
      return meanings.size > 1 ? [[setting, Object.fromEntries(meanings)]] : [];
    });
    expect(Object.fromEntries(different)).toEqual({});
  });

  it('has no variable that tasks, Python, Compose or tests use for something else', async () => {
    const variables = [...(await settings()).keys()].map(variableOf);
    expect(variables.filter((name) => VARIABLES_OF_OTHERS.includes(name))).toEqual([]);
  });

  it('does not limit what a list shows, which is a matter of one command line', async () => {
    const names = [...(await settings()).keys()];
    expect(names.filter((name) => ['limit', 'from', 'csv'].includes(name))).toEqual([]);
  });
});

it('says which other option it needs', async () => {
  const wrong = (await GOSHAWK.all()).flatMap(({ name: command, options }) =>
    Object.entries<OptionSpec>(options).flatMap(([name, spec]) => {
      const [, said] = /^with --([a-z-]+):/.exec(spec.describe) ?? [];
      const others = [spec.with, spec.without].filter((other) => other !== undefined);
      const isWrong = said !== (spec.with && kebab(spec.with)) || others.some((other) => !(other in options));
      return isWrong ? [`${command} ${name}`] : [];
    }),
  );
  expect(wrong).toEqual([]);
});

it('is never named by its negation, which the parser reads as another option', async () => {
  const names = (await GOSHAWK.all()).flatMap(({ name: command, options }) =>
    Object.keys(options).map((name) => `${command} ${name}`),
  );
  expect(names.filter((name) => / no[A-Z]/.test(name))).toEqual([]);
});
