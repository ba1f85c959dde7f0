import { InputError, nearest } from '@goshawk/core';
import { Parser } from 'yargs/helpers';
import type { Command } from './command.js';
import { COMMAND_GROUPS, COMMAND_NAMES, commandNamed, commandsNamedIn } from './commands/index.js';
import { GLOBAL_OPTIONS } from './context.js';
import { helpOn, unknownCommand } from './help.js';
import { flagOf, kebab, type OptionSpec, type OptionSpecs } from './options.js';

/** What a command line says. */
interface GivenLine {
  readonly command: Command;
  /** By option name, camel case; only those that are given. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly words: readonly string[];
}

/** Either a command with what it is given, or the help that was asked for. */
interface Parsed {
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
  const command = await commandOf(argv);
  const { argv: parsed, error } = split(argv, optionsOf(command));
  const { _: positionals, ...flags } = parsed;
  const given = { command, flags, words: positionals.slice(command.name.split(' ').length).map(String) };
  checkOptions(given, error, argv);
  return { given, help: '' };
}

/** `help COMMAND`, `COMMAND help` and `-h`, alone or among other letters, are all asked as `COMMAND --help`. */
function helpAsOption(words: readonly string[]): readonly string[] {
  const isLetters = words.some((word) => /^-[a-z]*h[a-z]*$/.test(word));
  if (words[0] === 'help') return [...words.slice(1), '--help'];
  if (words.at(-1) === 'help') return [...words.slice(0, -1), '--help'];
  return isLetters ? [...words, '--help'] : words;
}

/** The command stands first but for options, and of these each command knows which take a value. */
async function commandOf(argv: readonly string[]): Promise<Command> {
  const isFirst = !argv[0]!.startsWith('-');
  const candidates = isFirst ? [] : await commandsNamedIn(argv);
  const specs: OptionSpecs = Object.assign({}, ...candidates.map(optionsOf), GLOBAL_OPTIONS);
  const [first, second] = isFirst ? argv : split(argv, specs).argv._.map(String);
  if (first === undefined) {
    throw new InputError('usage', 'no command: `goshawk --help` lists them', '`goshawk --help` shows how');
  }
  const command = (await commandNamed(first)) ?? (await commandNamed(`${first} ${second}`));
  if (command !== undefined) return command;
  if (!Object.hasOwn(COMMAND_GROUPS, first)) throw unknownCommand(first);
  if (second !== undefined && !second.startsWith('-')) throw unknownInGroup(first, second);
  const members = COMMAND_NAMES.filter((name) => name.startsWith(`${first} `));
  const seconds = members.map((name) => name.slice(first.length + 1)).join(', ');
  throw new InputError('usage', `${first} needs one of: ${seconds}`, '`goshawk --help` shows how');
}

function optionsOf({ options }: Command): OptionSpecs {
  return { ...options, ...GLOBAL_OPTIONS };
}

/** Nothing is converted, and no default is filled in: variables and files come between. */
function split(argv: readonly string[], specs: OptionSpecs): ReturnType<typeof Parser.detailed> {
  const named = (is: (spec: OptionSpec) => boolean): string[] =>
    Object.entries(specs).flatMap(([name, spec]) => (is(spec) ? [name, kebab(name)] : []));
  const valued = named(({ type }) => type !== 'flag');
  return Parser.detailed([...argv], {
    boolean: named(({ type }) => type === 'flag'),
    string: valued,
    array: named(({ type }) => type === 'texts'),
    narg: Object.fromEntries(valued.map((name) => [name, 1])),
    alias: Object.fromEntries(
      Object.entries(specs).flatMap(([name, { alias }]) => (alias === undefined ? [] : [[name, [alias]]])),
    ),
    configuration: {
      'strip-dashed': true,
      'strip-aliased': true,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
    },
  });
}

/** @throws InputError for options that the command does not have, or whose value is missing */
function checkOptions(
  { command, flags }: GivenLine,
  error: Error | null | undefined,
  argv: readonly string[],
): void {
  const specs = optionsOf(command);
  const hint = `\`goshawk ${command.name} --help\` shows how`;
  const unknown = Object.keys(flags).filter((name) => !Object.hasOwn(specs, name));
  if (unknown.length > 0) {
    const options = unknown.map((name) => asTyped(kebab(name), argv));
    const line = `unknown option${options.length > 1 ? 's' : ''}: ${options.join(', ')}`;
    throw new InputError('usage', line + question(nearestOption(options[0]!, specs)), hint);
  }
  // The one mistake that the parser finds: `Not enough arguments following: NAME`.
  if (error) throw new InputError('usage', `--${error.message.split(': ')[1]} needs a value`, hint);
}

function unknownInGroup(first: string, second: string): InputError {
  const meant = nearest(`${first} ${second}`, COMMAND_NAMES);
  const line = `unknown command: ${first} ${second}${question(meant)}`;
  return new InputError('usage', line, '`goshawk --help` shows how');
}

function question(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** `--no-x`, where that is what stands there: the parser takes it for `x`. */
function asTyped(name: string, argv: readonly string[]): string {
  if (argv.some((word) => word === `--no-${name}` || word.startsWith(`--no-${name}=`))) return `--no-${name}`;
  return name.length > 1 ? flagOf(name) : `-${name}`;
}

/** Also of an option that somebody cut short, such as `--no-steal`, or of which only the end was typed, such as `--timeout`. */
function nearestOption(typed: string, specs: OptionSpecs): string | undefined {
  const flags = Object.entries(specs).flatMap(([name, { type }]) =>
    type === 'flag' ? [flagOf(name), `--no-${kebab(name)}`] : [flagOf(name)],
  );
  if (typed.length <= BEGINNING_MIN) return nearestFlag(typed, flags);
  const begun = flags.filter((flag) => flag.startsWith(typed));
  if (begun.length === 1) return begun[0];
  const endings = Object.keys(specs)
    .map(flagOf)
    .filter((flag) => flag.endsWith(typed.slice(1)));
  return nearestFlag(typed, flags) ?? (endings.length > 0 ? endings.join(' or ') : undefined);
}

function nearestFlag(typed: string, flags: readonly string[]): string | undefined {
  const name = nearest(
    typed.replace(/^-+/, ''),
    flags.map((flag) => flag.slice(2)),
  );
  return name === undefined ? undefined : `--${name}`;
}

/** Too many options begin or end with a letter or two. */
const BEGINNING_MIN = 4;
