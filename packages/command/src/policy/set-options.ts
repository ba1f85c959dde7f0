import { InputError, type Preset } from '@goshawk/core';
import { deciderOf, optionsOf, type PolicyModule, type PolicyOptions } from '@goshawk/policies';
import { pairsIn } from '../pairs.js';

/**
 * Parses `--set` into values of the options' types.
 * @param chosen name of the policy, for errors
 * @throws InputError for invalid NAME=VALUE, unknown options and values out of bounds
 */
export function setOptions(chosen: string, preset: Preset, texts: readonly string[]): PolicyOptions {
  const { module } = deciderOf(preset);
  const options: Record<string, number | string | boolean> = {};
  // Only a comma before another NAME= separates options.
  const each = texts.flatMap((text) => text.split(/,(?=\s*\w+=)/)).map((text) => text.trim());
  const pairs = pairsIn(each, {
    option: '--set',
    hint: exampleOf(module),
    isGood: (value) => value !== '',
  });
  for (const [name, value] of pairs) {
    const flag = module.options[name]?.flag;
    if (flag !== undefined)
      throw new InputError(
        'bad-option',
        `--set ${name}: ${chosen} takes this option from ${flag}`,
        `use ${flag}`,
      );
    options[name] = typed(value, typeof module.options[name]?.default);
  }
  optionsOf(chosen, module, options);
  return options;
}

function exampleOf({ options }: PolicyModule): string {
  const [name, option] = Object.entries(options).find(([, { flag }]) => flag === undefined) ?? [];
  return name === undefined ? 'the policy has no options' : `for example ${name}=${option!.default}`;
}

/**
 * Scales the sizes in the options of a run whose jobs are scaled down by `divisor`, but not below their
 * minimum. One text may contain several sizes, separated by commas.
 */
export function scaled(
  { options: described }: PolicyModule,
  options: PolicyOptions,
  divisor: number,
): PolicyOptions {
  if (divisor === 1) return options;
  const sizes = Object.entries(described).flatMap(([name, option]) =>
    option.scales === true ? [[name, smaller(options[name] ?? option.default, option.min, divisor)]] : [],
  );
  return { ...options, ...Object.fromEntries(sizes) };
}

function smaller(size: number | string | boolean, least = 0, divisor: number): number | string {
  if (typeof size === 'number') return Math.max(least, size / divisor);
  const each = String(size).split(',');
  return each.map((one) => Number((Number(one) / divisor).toPrecision(6))).join(',');
}

/** Returns the options as arguments of `--set`, one per option. */
export function setTexts(preset: Preset): string[] {
  const { module, options } = deciderOf(preset);
  return Object.entries(options)
    .filter(([name]) => module.options[name]?.flag === undefined)
    .map(([name, value]) => `${name}=${value}`)
    .sort();
}

/** Converts a value to the type. Returns an invalid text unchanged, so that the error quotes it. */
function typed(text: string, type: string): number | string | boolean {
  if (type === 'number' && Number.isFinite(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
