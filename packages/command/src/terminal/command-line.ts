import { type Millis, shellWord } from '@goshawk/core';
import { defaultOf, flagOf, type OptionSpecs, type Resolved } from '../options.js';

/**
 * Returns the line that runs a command again with the same options. The options may originate from flags,
 * variables or a file.
 */
export function commandLine<S extends OptionSpecs>(
  name: string,
  words: readonly string[],
  specs: S,
  values: Resolved<S>,
): string {
  return ['goshawk', name, ...[...words, ...flagsFor(specs, values)].map(shellWord)].join(' ');
}

/** Returns the flags for options, without those at their default. */
export function flagsFor<S extends OptionSpecs>(
  specs: S,
  values: { readonly [N in keyof S]?: Resolved<S>[N] | undefined },
): string[] {
  return Object.entries(specs).flatMap(([option, spec]) => {
    const value = (values as Record<string, unknown>)[option];
    if (value === undefined || sameAs(value, defaultOf(spec))) return [];
    if (spec.type === 'flag') return [value === true ? flagOf(option) : `--no-${flagOf(option).slice(2)}`];
    if (spec.type === 'texts') return (value as string[]).flatMap((one) => [flagOf(option), one]);
    if (spec.type === 'count' && spec.none !== undefined && spec.none === value)
      return [flagOf(option), 'none'];
    return [flagOf(option), spec.type === 'duration' ? durationText(value as Millis) : String(value)];
  });
}

function sameAs(value: unknown, other: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(other);
}

/**
 * Formats a duration as options accept it, in the largest unit that gives a whole number: `7d`, `90s`,
 * `1.5ms`.
 */
export function durationText(ms: Millis): string {
  const unit = UNITS.find(([, unitMs]) => ms >= unitMs && ms % unitMs === 0) ?? ['ms', 1];
  return `${ms / unit[1]}${unit[0]}`;
}

const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];
