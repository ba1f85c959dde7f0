import { didYouMean, InputError, nearest } from '@goshawk/core';
import type { Command } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { flagOf, kebab, type OptionSpecs } from '../options.js';
import type { Program } from './program.js';

/** @param word the word in place of the command */
export function unknownCommand({ names }: Program, word: string): InputError {
  const suggestion = nearest(word, new Set(names.map((name) => name.split(' ')[0]!)));
  return new InputError('usage', `unknown command: ${word}${didYouMean(suggestion)}`, 'see `goshawk --help`');
}

export function unknownInGroup({ names }: Program, first: string, second: string): InputError {
  const suggestion = nearest(`${first} ${second}`, names);
  const line = `unknown command: ${first} ${second}${didYouMean(suggestion)}`;
  return new InputError('usage', line, 'see `goshawk --help`');
}

/** @param command undefined if the command line names none */
export function unknownOptions(
  unknown: readonly string[],
  argv: readonly string[],
  command: Command | undefined,
): InputError {
  const specs: OptionSpecs = { ...command?.options, ...GLOBAL_OPTIONS };
  const file = argv.find(
    (word) => /^-[^-].*\./s.test(word) && unknown.includes(word[1]!) && !Object.hasOwn(specs, word[1]!),
  );
  if (file !== undefined)
    return new InputError('usage', `unknown option: ${file}`, `write ./${file} if it is a file`);
  const options = unknown.map((name) => asTyped(kebab(name), argv));
  const line = `unknown option${options.length > 1 ? 's' : ''}: ${options.join(', ')}`;
  return new InputError('usage', line + didYouMean(nearestOption(options[0]!, specs)), seeHelp(command));
}

/** Returns the hint of a usage error. */
export function seeHelp(command: Command | undefined): string {
  return `see \`goshawk ${command === undefined ? '' : `${command.name} `}--help\``;
}

/** Returns the flag as the user typed it, since yargs reads `--no-x` as `x`. */
export function asTyped(name: string, argv: readonly string[]): string {
  if (argv.some((word) => word === `--no-${name}` || word.startsWith(`--no-${name}=`))) return `--no-${name}`;
  return name.length > 1 ? flagOf(name) : `-${name}`;
}

/**
 * Finds the nearest option. A typed beginning (`--no-steal`) or end (`--timeout`) of an option also matches.
 */
function nearestOption(typed: string, specs: OptionSpecs): string | undefined {
  const flags = Object.entries(specs).flatMap(([name, { type }]) =>
    type === 'flag' ? [flagOf(name), `--no-${kebab(name)}`] : [flagOf(name)],
  );
  if (typed.length <= PREFIX_LENGTH_MIN) return nearestFlag(typed, flags);
  const begun = flags.filter((flag) => flag.startsWith(typed));
  if (begun.length === 1) return begun[0];
  const endings = flags.filter((flag) => flag.endsWith(typed.slice(1)) && !flag.startsWith('--no-'));
  const near = nearestFlag(typed, flags);
  if (near !== undefined) return near;
  if (endings.length > 0) return endings.join(' or ');
  // Singular and plural, as in `--retry` and `--retries`, share all but the last letter.
  const stem = typed.slice(0, -1);
  const related = flags
    .filter((flag) => stem.length > PREFIX_LENGTH_MIN && flag.startsWith(stem))
    .sort((one, other) => one.length - other.length);
  return related.length > 0 && related.length <= RELATED_MAX ? related.join(' or ') : undefined;
}

function nearestFlag(typed: string, flags: readonly string[]): string | undefined {
  const name = nearest(
    typed.replace(/^-+/, ''),
    flags.map((flag) => flag.slice(2)),
  );
  return name === undefined ? undefined : `--${name}`;
}

/** Minimum length of a typed beginning or end. Too many options share fewer letters. */
const PREFIX_LENGTH_MIN = 4;

/** Maximum number of options that are suggested for one beginning. */
const RELATED_MAX = 3;
