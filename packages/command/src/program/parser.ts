import { didYouMean, InputError, nearest } from '@goshawk/core';
import { Parser } from 'yargs/helpers';
import type { Command } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { flagOf, kebab, type OptionSpec, type OptionSpecs } from '../options.js';
import { VERSION } from '../version.js';
import { helpOn, unknownCommand } from './help.js';
import type { Program } from './program.js';

/** A parsed command line. */
interface GivenLine {
  readonly command: Command;
  /** Values of the given options by name (camel case). */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly words: readonly string[];
}

/** A command with its arguments, or the requested help. */
interface Parsed {
  readonly given: GivenLine | undefined;
  readonly help: string;
}

/** Options of every command that the parser handles; they are not settings. */
const ABOUT_OPTIONS = {
  help: { type: 'flag', alias: 'h', describe: 'show the help of the command' },
  version: { type: 'flag', describe: 'print the version' },
} as const satisfies OptionSpecs;

/**
 * Parses a command line. Help is printed only for `--help` or `-h` as an option, and for `help` as the first
 * word or the only word after the command. Elsewhere `help` is an ordinary value.
 *
 * @param words the words before `--`
 * @param columns width of the terminal, for help
 * @param hasMore whether there are words after `--`
 * @throws InputError, one line, for an unknown command or option, and for an option without its value
 */
export async function parse(
  program: Program,
  words: readonly string[],
  columns: number,
  hasMore = false,
): Promise<Parsed> {
  const help = async (topic: readonly string[], isWhole: boolean): Promise<Parsed> => ({
    given: undefined,
    help: await helpOn(program, topic, columns, isWhole),
  });
  if (words.length === 0) return help([], false);
  // This answer needs no commands, which load slowly.
  if (words.length === 1 && words[0] === '--version') return { given: undefined, help: VERSION };
  const argv = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
  const { first, second, command } = await commandOf(program, argv);
  const { argv: parsed, error } = split(argv, command === undefined ? GLOBAL_OPTIONS : optionsOf(command));
  const { _: positionals, help: asksHelp, version, ...flags } = parsed;
  const depth = command?.name.split(' ').length ?? 1;
  const rest = positionals.slice(depth).map(String);
  const isHelpWord = rest.length === 1 && rest[0] === 'help' && !hasMore;
  if (command === undefined) {
    if (!asksHelp && version) return { given: undefined, help: VERSION };
    const isGroup = first !== undefined && Object.hasOwn(program.groups, first);
    if (isGroup && second !== undefined && second !== 'help') throw unknownInGroup(program, first, second);
    if (first !== undefined && !isGroup) throw unknownCommand(program, first);
    if (asksHelp || (isGroup && second === 'help')) return help(first === undefined ? [] : [first], false);
    throw first === undefined ? noCommand() : incompleteGroup(program, first);
  }
  // A help page must not hide that an option consumed the word before it.
  if (error) throw needsValue(error, command, argv);
  if (asksHelp || isHelpWord) return help(command.name.split(' '), flags.all !== undefined);
  if (version) return { given: undefined, help: VERSION };
  const given = { command, flags, words: rest };
  checkOptions(given, argv);
  return { given, help: '' };
}

interface Found {
  /** Words in the positions of a command and of its member, if it is a group. */
  readonly first?: string | undefined;
  readonly second?: string | undefined;
  readonly command: Command | undefined;
}

/**
 * Finds the command. Options may precede it, and the possible commands determine which of them take a value.
 */
async function commandOf(program: Program, argv: readonly string[]): Promise<Found> {
  const [opening = '-'] = argv;
  const isFirst = !opening.startsWith('-') && !Object.hasOwn(program.groups, opening);
  const candidates = isFirst ? [] : await program.namedIn(opening.startsWith('-') ? argv : [opening]);
  const specs: OptionSpecs = Object.assign({}, ...candidates.map(optionsOf), GLOBAL_OPTIONS);
  const [first, second] = isFirst ? [opening] : split(argv, specs).argv._.map(String);
  if (first === undefined) return { first, second, command: undefined };
  // The singular of a command, such as `log`, is the command if no other has that name.
  const command =
    (await program.named(first)) ??
    (await program.named(`${first} ${second}`)) ??
    (Object.hasOwn(program.groups, first) ? undefined : await program.named(`${first}s`));
  return { first, second, command };
}

function noCommand(): InputError {
  return new InputError('usage', 'no command; `goshawk --help` lists them', 'see `goshawk --help`');
}

function incompleteGroup({ names }: Program, first: string): InputError {
  const members = names.filter((name) => name.startsWith(`${first} `));
  const seconds = members.map((name) => name.slice(first.length + 1)).join(', ');
  return new InputError('usage', `${first} needs one of: ${seconds}`, 'see `goshawk --help`');
}

function optionsOf({ options }: Command): OptionSpecs {
  return { ...options, ...GLOBAL_OPTIONS };
}

/**
 * Splits a command line without converting values or adding defaults, because variables and files take
 * precedence over defaults. A repeated option yields a list. The array type of the parser would strip quotes
 * from values.
 */
function split(argv: readonly string[], own: OptionSpecs): ReturnType<typeof Parser.detailed> {
  const specs: OptionSpecs = { ...own, ...ABOUT_OPTIONS };
  const named = (is: (spec: OptionSpec) => boolean): string[] =>
    Object.entries(specs).flatMap(([name, spec]) => (is(spec) ? [name, kebab(name)] : []));
  const valued = named(({ type }) => type !== 'flag');
  const optional = new Set(named((spec) => spec.type === 'text' && spec.valueOptional === true));
  const withValue = new Set(argv.map((word) => /^--([^=]+)=/.exec(word)?.[1]));
  return Parser.detailed([...argv], {
    boolean: named(({ type }) => type === 'flag'),
    string: valued,
    narg: Object.fromEntries(
      // An optional value after `=` counts as needed, because the parser strips quotes from other optional values.
      valued.filter((name) => !optional.has(name) || withValue.has(name)).map((name) => [name, 1]),
    ),
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

/** @throws InputError for options that the command does not have, and for flags with a value other than true or false */
function checkOptions({ command, flags }: GivenLine, argv: readonly string[]): void {
  const specs = optionsOf(command);
  const hint = hintFor(command);
  for (const word of argv) {
    const [, name, value] = /^--(?:no-)?([^=]+)=([\s\S]*)$/.exec(word) ?? [];
    const [, spec] = Object.entries(specs).find(([each]) => each === name || kebab(each) === name) ?? [];
    // The parser reads every other value of a flag as false.
    if (spec?.type === 'flag' && value !== 'true' && value !== 'false')
      throw new InputError('bad-option', `--${name}: "${value}" is neither true nor false`, hint);
    // An empty variable in `--export-env=$NAMES` must not mean everything.
    if (spec?.type === 'text' && spec.valueOptional && value === '')
      throw new InputError(
        'bad-option',
        `--${name}= has an empty value`,
        `write --${name} for all variables`,
      );
  }
  const isKnown = (name: string): boolean => {
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    return spec !== undefined && (spec.type === 'flag' || ![flags[name]].flat().includes(false));
  };
  const unknown = Object.keys(flags).filter((name) => !isKnown(name));
  if (unknown.length > 0) {
    const isFile = (word: string): boolean => /^-[^-].*\./s.test(word) && !isKnown(word[1]!);
    const file = argv.find((word) => isFile(word) && unknown.includes(word[1]!));
    if (file !== undefined)
      throw new InputError('usage', `unknown option: ${file}`, `write ./${file} if it is a file`);
    const options = unknown.map((name) => asTyped(kebab(name), argv));
    const line = `unknown option${options.length > 1 ? 's' : ''}: ${options.join(', ')}`;
    throw new InputError('usage', line + didYouMean(nearestOption(options[0]!, specs)), hint);
  }
}

/** Converts the parser's error, `Not enough arguments following: NAME`. */
function needsValue(error: Error, command: Command, argv: readonly string[]): InputError {
  const name = error.message.split(': ')[1]!;
  const flag = asTyped(kebab(name), argv);
  const next = argv[argv.findLastIndex((word) => word === flag || word === `--${name}`) + 1];
  const hint = next?.startsWith('-') ? `write ${flag}=${next} if that is the value` : hintFor(command);
  return new InputError('usage', `${flag} needs a value`, hint);
}

function hintFor({ name }: Command): string {
  return `see \`goshawk ${name} --help\``;
}

function unknownInGroup({ names }: Program, first: string, second: string): InputError {
  const suggestion = nearest(`${first} ${second}`, names);
  const line = `unknown command: ${first} ${second}${didYouMean(suggestion)}`;
  return new InputError('usage', line, 'see `goshawk --help`');
}

/** Returns the flag as the user typed it, since the parser reads `--no-x` as `x`. */
function asTyped(name: string, argv: readonly string[]): string {
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
