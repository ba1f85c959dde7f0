import { InputError, type Preset } from '@goshawk/core';
import { deciderOf, optionsOf, type PolicyOptions } from '@goshawk/policies';

/**
 * What `--set` says, each value of the type that its option has.
 *
 * @param chosen the policy of the cluster, for errors
 * @throws InputError for what is no NAME=VALUE, and for an option that the policy does not have or out of its bounds
 */
export function setOptions(chosen: string, preset: Preset, texts: readonly string[]): PolicyOptions {
  const { module } = deciderOf(preset);
  const options: Record<string, number | string | boolean> = {};
  // A comma within a value is part of it.
  for (const text of texts.flatMap((each) => each.split(/,(?=\s*\w+=)/))) {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(text.trim()) ?? [];
    if (name === undefined || value === undefined)
      throw new InputError('bad-option', `--set: "${text}" is not NAME=VALUE`, 'such as stall=true');
    if (Object.hasOwn(options, name)) throw new InputError('bad-option', `--set names ${name} twice`);
    const flag = module.options[name]?.flag;
    if (flag !== undefined)
      throw new InputError('bad-option', `--set ${name}: ${chosen} takes it from ${flag}`, `give ${flag}`);
    options[name] = typed(value, typeof module.options[name]?.default);
  }
  optionsOf(chosen, module, options);
  return options;
}

/** Options as `--set` takes them, one each. */
export function setTexts(preset: Preset): string[] {
  const { module, options } = deciderOf(preset);
  return Object.entries(options)
    .filter(([name]) => module.options[name]?.flag === undefined)
    .map(([name, value]) => `${name}=${value}`)
    .sort();
}

/** Text where it is not of that type, for an error that says what was written. */
function typed(text: string, type: string): number | string | boolean {
  if (type === 'number' && Number.isFinite(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
