import { InputError, nearest } from '@goshawk/core';
import yargs, { type Argv } from 'yargs';
import type { Command } from './command.js';
import { COMMAND_GROUPS, COMMAND_NAMES, commandsNamedIn } from './commands/index.js';
import { GLOBAL_OPTIONS } from './context.js';
import { helpOn, unknownCommand } from './help.js';
import { flagOf, kebab, type OptionSpec, type OptionSpecs } from './options.js';
import type { GivenLine } from './plain-line.js';

/** Either a command with what it is given, or the help that was asked for. */
export interface Parsed {
  readonly given: GivenLine | undefined;
  readonly help: string;
}

/**
 * Reads any command line.
 *
 * @param words up to `--`
 * @param columns of the terminal, for help
 * @throws InputError, one line, for a command or an option that there is not
 */
export async function parse(words: readonly string[], columns: number): Promise<Parsed> {
  const argv = helpAsOption(words);
  if (argv.length === 0 || argv.some((word) => ['--help', '--version'].includes(word))) {
    return { given: undefined, help: await helpOn(argv, columns) };
  }
  let given: GivenLine | undefined;
  const note: Note = (command, parsed) => {
    const flags = undisguised(parsed);
    given = { command, flags, words: [...((flags.words as string[] | undefined) ?? [])].map(String) };
  };
  const parser = buildParser(argv, await commandsNamedIn(argv), note);
  await parser.parseAsync(argv.map(disguised), {}, (error) => {
    if (error !== undefined && error !== null) throw error;
  });
  return { given, help: '' };
}

/** What a lone dash (stdin) is to yargs, which would lose it among the words. */
const DASH = '\0-';

function disguised(word: string): string {
  return word === '-' ? DASH : word;
}

function undisguised(parsed: Record<string, unknown>): Record<string, unknown> {
  const dash = (value: unknown): unknown => (value === DASH ? '-' : value);
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(dash) : dash(value),
    ]),
  );
}

/** `help COMMAND`, `COMMAND help` and `-h`, alone or among other letters, are all asked as `COMMAND --help`. */
function helpAsOption(words: readonly string[]): readonly string[] {
  const isLetters = words.some((word) => /^-[a-z]*h[a-z]*$/.test(word));
  if (words[0] === 'help') return [...words.slice(1), '--help'];
  if (words.at(-1) === 'help') return [...words.slice(0, -1), '--help'];
  return isLetters ? [...words, '--help'] : words;
}

function buildParser(argv: readonly string[], commands: readonly Command[], note: Note): Argv {
  let parser: Argv = yargs()
    .scriptName('goshawk')
    .parserConfiguration({
      'camel-case-expansion': true,
      'strip-dashed': true,
      'boolean-negation': true,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
      'duplicate-arguments-array': true,
    })
    .strict()
    .demandCommand(1, 'which command? `goshawk --help` lists them')
    .help(false)
    .version(false)
    .fail((message, error) => {
      throw error ?? usageError(message, argv, commands);
    });
  for (const command of commands) {
    if (!command.name.includes(' ')) parser = addCommand(parser, command, note);
  }
  for (const [group, describe] of Object.entries(COMMAND_GROUPS)) {
    const members = commands.filter(({ name }) => name.startsWith(`${group} `));
    if (members.length === 0) continue;
    parser = parser.command(group, describe, (builder) => addGroup(builder, group, members, note));
  }
  return parser;
}

/** Hears what is to be run; it is run when the parser is done. */
type Note = (command: Command, parsed: Record<string, unknown>) => void;

function addCommand(parser: Argv, command: Command, note: Note): Argv {
  return parser.command(
    `${command.name.split(' ').at(-1)}${command.wordsMax > 0 ? ' [words..]' : ''}`,
    false,
    (builder) => declareOptions(builder, command),
    (parsed) => note(command, parsed as Record<string, unknown>),
  );
}

/** Commands of two words, such as `trace stats`. */
function addGroup(parser: Argv, group: string, members: readonly Command[], note: Note): Argv {
  const names = members.map(({ name }) => name.slice(group.length + 1)).join(', ');
  return members
    .reduce((described, command) => addCommand(described, command, note), parser)
    .demandCommand(1, `${group} what? there are ${names}`);
}

function declareOptions(builder: Argv, command: Command): Argv {
  const specs: OptionSpecs = { ...command.options, ...GLOBAL_OPTIONS };
  return Object.entries(specs).reduce((declared, [name, spec]) => declare(declared, name, spec), builder);
}

function declare(parser: Argv, name: string, spec: OptionSpec): Argv {
  return parser.option(kebab(name), {
    // No default here: what is not given must stay visible as such, for variables and files to fill in.
    type: spec.type === 'flag' ? 'boolean' : spec.type === 'texts' ? 'array' : 'string',
    requiresArg: spec.type !== 'flag',
    // The help is written by `helpOn`, and the parser is spared its own.
    hidden: true,
    ...(spec.alias === undefined ? {} : { alias: spec.alias }),
    ...(spec.type === 'texts' ? { nargs: 1 } : {}),
  });
}

/** yargs writes sentences; ours begin in lower case and name options as they are typed. */
function usageError(message: string, argv: readonly string[], commands: readonly Command[]): InputError {
  const words = argv.filter((word) => !word.startsWith('-'));
  const called = [words.slice(0, 2).join(' '), words[0]];
  const command = commands.find(({ name }) => called.includes(name));
  const hint = `\`goshawk ${command === undefined ? '' : `${command.name} `}--help\` shows how`;
  const unknown = /^Unknown (?:arguments?|commands?): (.*)$/.exec(message);
  if (unknown === null) {
    const line = message.trim().split('\n')[0] ?? 'wrong usage';
    return new InputError('usage', line.charAt(0).toLowerCase() + line.slice(1), hint);
  }
  const named = unknown[1]!.split(', ');
  const word = named.find((each) => words.includes(each));
  if (word !== undefined) return unknownWord(word, words, hint);
  const options = [...new Set(named.map(kebab))].map((name) => asTyped(name, argv));
  const meant = command === undefined ? undefined : nearestOption(options[0]!, command);
  const line = `unknown option${options.length > 1 ? 's' : ''}: ${options.join(', ')}`;
  return new InputError('usage', line + question(meant), hint);
}

function unknownWord(word: string, words: readonly string[], hint: string): InputError {
  const first = words[0]!;
  if (word === first) return unknownCommand(word);
  if (Object.hasOwn(COMMAND_GROUPS, first)) {
    const meant = nearest(`${first} ${word}`, COMMAND_NAMES);
    return new InputError('usage', `unknown command: ${first} ${word}${question(meant)}`, hint);
  }
  return new InputError('usage', `${first}: "${word}" is one word too many`, hint);
}

function question(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** `--no-x`, where that is what stands there: the parser takes it for `x`. */
function asTyped(name: string, argv: readonly string[]): string {
  if (argv.some((word) => word === `--no-${name}` || word.startsWith(`--no-${name}=`))) return `--no-${name}`;
  return name.length > 1 ? flagOf(name) : `-${name}`;
}

/** Also of an option that somebody cut short, such as `--no-steal`. */
function nearestOption(typed: string, { options }: Command): string | undefined {
  const specs: OptionSpecs = { ...options, ...GLOBAL_OPTIONS };
  const flags = Object.entries(specs).flatMap(([name, { type }]) =>
    type === 'flag' ? [flagOf(name), `--no-${kebab(name)}`] : [flagOf(name)],
  );
  const begun = typed.length > BEGINNING_MIN ? flags.filter((flag) => flag.startsWith(typed)) : [];
  return begun.length === 1 ? begun[0] : nearestFlag(typed, flags);
}

function nearestFlag(typed: string, flags: readonly string[]): string | undefined {
  const name = nearest(
    typed.replace(/^-+/, ''),
    flags.map((flag) => flag.slice(2)),
  );
  return name === undefined ? undefined : `--${name}`;
}

/** Of `--`, and of a letter, too many options are the rest. */
const BEGINNING_MIN = 4;
