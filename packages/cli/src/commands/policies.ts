import { defineCommand, flagOf, type OptionSpec, painter, renderTable, wholeList } from '@goshawk/command';
import { findPapers, settingsUsedBy } from '@goshawk/command/policy';
import { PAPER_POLICY_NAMES } from '@goshawk/core';
import type { PolicyOption } from '@goshawk/policies';

export const policiesCommand = defineCommand({
  name: 'policies',
  words: '[NAME|FILE]',
  describe: 'list the policies, or the settings of one policy',
  examples: [
    ['goshawk policies', 'list the policies'],
    [
      'goshawk policies hawk',
      'list the settings of hawk, which are options of up, central, replay and simulate',
    ],
    ['goshawk policies ./mine.js', 'list the settings of a custom policy'],
    ['goshawk policies carbyne', 'also list options for --set, with defaults and bounds'],
  ],
  needsNoCluster: true,
  options: {},
  async run(context, _, { words }) {
    const { ALL_POLICY_NAMES, deciderOf, presetNamed } = await import('@goshawk/policies');
    const { loadPolicy } = await import('@goshawk/command/policy');
    const asked = words[0] === undefined ? ALL_POLICY_NAMES : [words[0]];
    for (const name of asked) await loadPolicy(name, context.cwd);
    const installed = await findPapers();
    const names = asked.filter((name) => installed !== undefined || !PAPER_POLICY_NAMES.includes(name));
    const policies = names.map((name) => {
      const preset = presetNamed(name);
      const { title } = preset;
      const options = Object.entries(deciderOf(preset).module.options);
      return {
        name,
        title,
        options: options.map(([option, spec]) => ({
          name: option,
          flag: spec.flag ?? `--set ${option}=`,
          ...shown(spec),
        })),
        settings: settingsUsedBy(preset).map(([option, spec]) => ({
          flag: flagOf(option),
          default: defaultOf(spec),
          help: spec.describe,
        })),
      };
    });
    const table = <Row>(
      rows: readonly Row[],
      ...cells: (readonly [title: string, of: (row: Row) => string])[]
    ): void => {
      const columns = cells.map(([title, of]) => ({
        title,
        of,
        ...(title === '' ? { shrinkTo: 20, wraps: true } : {}),
      }));
      context.out(renderTable(columns, rows, painter(context)));
    };
    if (context.global.json) {
      context.json({ schema: 'goshawk.policies/1', policies, ...wholeList(policies) });
    } else if (words[0] === undefined) {
      table(policies, ['policy', ({ name }) => name], ['', ({ title }) => title]);
    } else {
      const { name, title, options, settings } = policies[0]!;
      context.out(`${name}: ${title}\n`);
      // Options with a dedicated flag are listed under settings, in the units of the flag.
      const own = options.filter(({ flag }) => flag.startsWith('--set'));
      if (own.length > 0) {
        table(
          own,
          ['option', ({ flag }) => flag],
          ['default', ({ default: normal }) => `${normal}`],
          ['values', ({ values }) => values],
          ['', ({ help }) => help],
        );
        context.out('');
      }
      table(
        settings,
        ['setting', ({ flag }) => flag],
        ['default', ({ default: normal }) => normal],
        ['', ({ help }) => help],
      );
    }
  },
});

function defaultOf(spec: OptionSpec): string {
  if (spec.type === 'flag') return spec.default === true ? 'yes' : 'no';
  return 'default' in spec && spec.default !== undefined ? `${spec.default}` : (spec.whenUnset ?? '');
}

function shown({ default: given, min, max, choices, help }: PolicyOption<unknown>) {
  const normal = given as string | number | boolean;
  const bounds = [min === undefined ? '' : `from ${min}`, max === undefined ? '' : `to ${max}`];
  const values =
    typeof normal === 'boolean' ? 'true, false' : (choices?.join(', ') ?? bounds.join(' ').trim());
  return { default: normal, values, help };
}
