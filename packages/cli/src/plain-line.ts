import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Command } from './command.js';
import { commandNamed } from './commands/index.js';
import { GLOBAL_OPTIONS } from './context.js';
import { kebab, type OptionSpecs } from './options.js';

/** What a command line says. */
export interface GivenLine {
  readonly command: Command;
  /** By option name, camel case; only those that are given. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly words: readonly string[];
}

/**
 * Reads a command line as scripts write them: the command, then its words, and its options in full, each once. Most
 * need no more, and are spared the parser, which takes longer to load than all that a command loads besides.
 *
 * @param argv up to `--`
 * @returns undefined for all others, those with mistakes among them; `parse` reads these, and says the same of the rest
 */
export async function readPlainLine(argv: readonly string[]): Promise<GivenLine | undefined> {
  const command = (await commandNamed(argv[0] ?? '')) ?? (await commandNamed(argv.slice(0, 2).join(' ')));
  if (command === undefined) return undefined;
  const specs: OptionSpecs = { ...command.options, ...GLOBAL_OPTIONS };
  const given = strictly(argv.slice(command.name.split(' ').length), specs);
  if (given === undefined) return undefined;
  const { values, positionals: words, tokens } = given;
  const names = Object.keys(specs).filter((name) => Object.hasOwn(values, kebab(name)));
  const isEachOnce = tokens.filter(({ kind }) => kind === 'option').length === names.length;
  // The last word of all may ask for help.
  const isTooMuch = words.length > command.wordsMax || words.at(-1) === 'help';
  if (!isEachOnce || isTooMuch || !words.every(isPlainWord)) return undefined;
  const flags = Object.fromEntries(names.map((name) => [name, values[kebab(name)]]));
  return Object.values(flags).flat().every(isPlainValue) ? { command, flags, words } : undefined;
}

function strictly(args: string[], specs: OptionSpecs) {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const [name, { type }] of Object.entries(specs))
    options[kebab(name)] = { type: type === 'flag' ? 'boolean' : 'string', multiple: type === 'texts' };
  try {
    return parseArgs({ args, options, allowPositionals: true, allowNegative: true, tokens: true });
  } catch {
    // `parse` says what is wrong.
    return undefined;
  }
}

/** Of the others one says more of the flag before it, and one stands for the standard input. */
function isPlainWord(word: string): boolean {
  return !['true', 'false', '-'].includes(word);
}

/** The parser takes the others for options, or takes quotes off. */
function isPlainValue(value: unknown): boolean {
  return typeof value === 'boolean' || (typeof value === 'string' && value !== '' && !/^["'-]/.test(value));
}
