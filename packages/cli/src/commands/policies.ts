import type { PolicyOption } from '@goshawk/policies';
import { defineCommand, ExitCode } from '../command.js';
import { OWN_FLAGS } from '../policy-options.js';
import { painter } from '../terminal/paint.js';
import { renderTable } from '../terminal/table.js';

export const policiesCommand = defineCommand({
  name: 'policies',
  words: '[NAME]',
  wordsMax: 1,
  describe: 'list the policies there are, or the options of one, which --set takes',
  examples: [
    ['goshawk policies', 'what there is for --policy'],
    ['goshawk policies carbyne', 'what there is for --set with it, with defaults and bounds'],
  ],
  options: {},
  async run(context, _, { words }) {
    const { ALL_POLICY_NAMES, policyModule, presetNamed } = await import('@goshawk/policies');
    const names = words[0] === undefined ? ALL_POLICY_NAMES : [words[0]];
    const policies = names.map((name) => {
      const { title, decidedBy } = presetNamed(name);
      const options = Object.entries(policyModule(decidedBy.policy).options);
      return {
        name,
        title,
        options: options.map(([option, spec]) => ({
          name: option,
          flag: OWN_FLAGS[decidedBy.policy]?.[option] ?? `--set ${option}=`,
          ...shown(spec),
        })),
      };
    });
    const table = (columns: string[], rows: string[][]): void =>
      context.out(
        renderTable(
          columns.map((title) => ({ title })),
          rows,
          context.columns,
          painter(context.color),
        ),
      );
    if (context.global.json) {
      const total = policies.length;
      context.json({ schema: 'goshawk.policies/1', policies, total, truncated: false, next: null });
    } else if (words[0] === undefined) {
      table(
        ['policy', ''],
        policies.map(({ name, title }) => [name, title]),
      );
    } else {
      const { name, title, options } = policies[0]!;
      context.out(`${name}: ${title}`);
      if (options.length === 0) context.note(`${name} has no options for --set`);
      // What has a flag of its own may have other units and words there.
      else
        table(
          ['flag', 'default', 'values', ''],
          options.map(({ flag, default: normal, values, help }) =>
            flag.startsWith('--set') ? [flag, `${normal}`, values, help] : [flag, '', '', help],
          ),
        );
    }
    return ExitCode.done;
  },
});

function shown({ default: normal, min, max, choices, help }: PolicyOption<unknown>) {
  const bounds = [min === undefined ? '' : `from ${min}`, max === undefined ? '' : `to ${max}`];
  const values =
    typeof normal === 'boolean' ? 'true, false' : (choices?.join(', ') ?? bounds.join(' ').trim());
  return { default: normal, values, help };
}
