import type { Command } from './command.js';
import { commandNamed } from './commands/index.js';
import { GLOBAL_OPTIONS } from './context.js';
import { kebab, type OptionSpec } from './options.js';

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
  const options = optionsByFlag(command);
  const flags: Record<string, unknown> = {};
  const words: string[] = [];
  for (let i = command.name.split(' ').length; i < argv.length; i++) {
    const word = argv[i]!;
    if (!word.startsWith('-')) {
      words.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const option = options.get(equals < 0 ? word : word.slice(0, equals));
    if (option === undefined || option.name in flags) return undefined;
    if (option.means !== undefined) {
      if (equals >= 0 || isTruth(argv[i + 1])) return undefined;
      flags[option.name] = option.means;
    } else {
      const value = equals < 0 ? argv[++i] : word.slice(equals + 1);
      if (value === undefined || !isPlainValue(value)) return undefined;
      flags[option.name] = option.isList ? [value] : value;
    }
  }
  // The last word of all may ask for help.
  if (words.length > command.wordsMax || words.at(-1) === 'help') return undefined;
  return { command, flags, words };
}

interface PlainOption {
  readonly name: string;
  /** What it says by being there; undefined for options that have a value. */
  readonly means: boolean | undefined;
  readonly isList: boolean;
}

function optionsByFlag(command: Command): Map<string, PlainOption> {
  const found = new Map<string, PlainOption>();
  const specs: [string, OptionSpec][] = [
    ...Object.entries(command.options),
    ...Object.entries(GLOBAL_OPTIONS),
  ];
  for (const [name, { type }] of specs) {
    found.set(`--${kebab(name)}`, {
      name,
      means: type === 'flag' ? true : undefined,
      isList: type === 'texts',
    });
    if (type === 'flag') found.set(`--no-${kebab(name)}`, { name, means: false, isList: false });
  }
  return found;
}

/** A word that says more of the flag before it. */
function isTruth(word: string | undefined): boolean {
  return word === 'true' || word === 'false';
}

/** The parser takes the others for options, or takes quotes off. */
function isPlainValue(value: string): boolean {
  return value !== '' && !/^["'-]/.test(value);
}
