import {
  type Column,
  type Command,
  type Context,
  defineCommand,
  durationText,
  GLOBAL_OPTIONS,
  kebab,
  type OptionSpecs,
  type Origin,
  painter,
  renderTable,
  resolveOptions,
  settingName,
  variableOf,
  wholeList,
  withoutPasswords,
} from '@goshawk/command';
import type { Output } from '@goshawk/core';

interface Setting {
  /** Commands that have the option; empty if all have it. */
  readonly commands: readonly string[];
  readonly name: string;
  /** Value of the option; durations in ms. */
  readonly value: Output<'goshawk.config/1'>['settings'][number]['value'];
  readonly unit?: 'ms';
  /** Description of the behavior without a value. */
  readonly whenUnset?: string;
  readonly origin: Origin;
  /** Name of the variable or of the file. */
  readonly source: string;
}

/**
 * Shows each setting and its origin.
 *
 * @param commands all commands; a function, because this command is one of them
 */
export function configShowCommand(commands: () => Promise<readonly Command[]>) {
  return defineCommand({
    name: 'config show',
    describe: 'show the value of every setting',
    examples: [['goshawk config show --origin', 'also show where each value comes from']],
    options: {
      origin: {
        type: 'flag',
        setting: false,
        describe: 'also show where each value comes from; implied by --json',
      },
    },
    async run(context, options) {
      const settings = settingsOf(context, await commands());
      context.show({ schema: 'goshawk.config/1', settings, ...wholeList(settings) }, () =>
        table(context, settings, options.origin),
      );
    },
  });
}

function settingsOf(context: Context, commands: readonly Command[]): Setting[] {
  const { configFile: file } = context;
  const { config } = context.global;
  const groups: [commands: string[], specs: OptionSpecs][] = [
    [[], GLOBAL_OPTIONS],
    ...commands.map(({ name, options }): [string[], OptionSpecs] => [[name], options]),
  ];
  const found = new Map<string, Setting & { commands: string[] }>();
  for (const [names, specs] of groups) {
    const shown = Object.fromEntries(Object.entries(specs).filter(([, spec]) => spec.setting !== false));
    const sources = { flags: {}, environment: context.environment, file, fileName: config ?? '' };
    const { values, origins } = resolveOptions(shown as OptionSpecs, sources);
    for (const option of Object.keys(shown)) {
      const setting = settingName(option, shown[option]!) ?? option;
      const name = kebab(setting);
      const here = names.length === 0 ? (context.global as Record<string, unknown>)[option] : undefined;
      const resolved = (values as Record<string, unknown>)[option];
      const isFlag = here !== undefined && here !== resolved;
      const value = withoutPassword((isFlag ? here : resolved) ?? null);
      // An option with different defaults in different commands has a line for each.
      const key = JSON.stringify([name, value, names.length === 0]);
      const { whenUnset } = shown[option]!;
      const fallback = value === null && whenUnset !== undefined ? { whenUnset } : {};
      const unit = shown[option]!.type === 'duration' ? { unit: 'ms' as const } : {};
      const same = found.get(key);
      if (same !== undefined) {
        same.commands.push(...names);
        continue;
      }
      const origin = isFlag ? 'flag' : origins[option]!;
      const source = origin === 'environment' ? variableOf(setting) : origin === 'file' ? (config ?? '') : '';
      found.set(key, { commands: [...names], name, value, ...unit, ...fallback, origin, source });
    }
  }
  return [...found.values()];
}

/** Hides passwords in URLs. */
function withoutPassword(value: unknown): Setting['value'] {
  return typeof value === 'string' ? withoutPasswords(value) : (value as Setting['value']);
}

function table(context: Context, settings: readonly Setting[], withOrigin: boolean): string {
  const valueWords = ({ value, unit, whenUnset }: Setting): string => {
    if (value === null || (Array.isArray(value) && value.length === 0)) return whenUnset ?? '';
    return unit === 'ms' ? durationText(value as number) : String(value);
  };
  const columns: Column<Setting>[] = [
    { title: 'setting', of: ({ name }) => name },
    { title: 'value', shrinkTo: 16, of: valueWords },
    {
      title: 'used by',
      shrinkTo: 16,
      of: ({ commands }) => (commands.length === 0 ? 'every command' : commands.join(', ')),
    },
  ];
  if (withOrigin)
    columns.splice(2, 0, {
      title: 'from',
      shrinkTo: 12,
      of: ({ origin, source }) => (source === '' ? origin : `${origin} (${source})`),
    });
  return renderTable(columns, settings, painter(context));
}
