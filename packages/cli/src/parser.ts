import { parseArgs } from 'node:util';
import { InputError, nearest } from '@goshawk/core';
import type { Command } from './command.js';
import { COMMAND_GROUPS, COMMAND_NAMES, commandNamed, commandsNamedIn } from './commands/index.js';
import { GLOBAL_OPTIONS } from './context.js';
import { helpOn, unknownCommand } from './help.js';
import { flagOf, kebab, type OptionSpecs } from './options.js';

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
  const taken = takeApart(argv, optionsOf(command));
  checkOptions(command, taken);
  const { flags, words: all } = taken;
  return { given: { command, flags, words: all.slice(command.name.split(' ').length) }, help: '' };
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
  const [first, second] = isFirst ? argv : takeApart(argv, specs).words;
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

/** What stands on a command line: nothing is converted, and no default is filled in, since variables and files come between. */
interface TakenApart {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly words: readonly string[];
  /** As they were typed: options that there are not, and those whose value is missing. */
  readonly unknown: readonly string[];
  readonly missing: readonly string[];
}

function takeApart(argv: readonly string[], specs: OptionSpecs): TakenApart {
  const names = new Map(Object.keys(specs).flatMap((name) => [[name, name] as const, [kebab(name), name]]));
  const grammar = Array.from(names, ([typed, name]) => {
    const { type, alias } = specs[name]!;
    const short = alias === undefined ? {} : { short: alias };
    return [typed, { type: type === 'flag' ? 'boolean' : 'string', ...short }] as const;
  });
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(grammar),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const flags: Record<string, unknown> = {};
  const words: string[] = [];
  const unknown: string[] = [];
  const missing: string[] = [];
  /** A flag that stands just before: `--json false`. */
  let flag: string | undefined;
  for (const token of tokens) {
    const before = flag;
    flag = undefined;
    if (token.kind === 'positional') {
      if (before !== undefined && /^(true|false)$/.test(token.value)) flags[before] = token.value === 'true';
      else words.push(token.value);
    }
    if (token.kind !== 'option') continue;
    const { name: typed, rawName, inlineValue } = token;
    // `-n=5` is `-n5`.
    const value = rawName.startsWith('--') ? token.value : token.value?.replace(/^=/, '');
    const isNo = typed.startsWith('no-') && !names.has(typed);
    const name = names.get(isNo ? typed.slice(3) : typed);
    if (name === undefined) unknown.push(rawName);
    else if (isNo) flags[name] = false;
    else if (specs[name]!.type === 'flag') {
      flags[name] = value ?? true;
      if (value === undefined) flag = name;
    } else if (value === undefined || (!inlineValue && /^-[^0-9]/.test(value))) missing.push(rawName);
    else if (name in flags || specs[name]!.type === 'texts') flags[name] = [flags[name] ?? [], value].flat();
    else flags[name] = value;
  }
  return { flags, words, unknown, missing };
}

/** @throws InputError for options that the command does not have, or whose value is missing */
function checkOptions(command: Command, { unknown, missing }: TakenApart): void {
  const hint = `\`goshawk ${command.name} --help\` shows how`;
  if (unknown.length > 0) {
    const options = [...new Set(unknown)];
    const line = `unknown option${options.length > 1 ? 's' : ''}: ${options.join(', ')}`;
    throw new InputError('usage', line + question(nearestOption(options[0]!, optionsOf(command))), hint);
  }
  if (missing.length > 0) throw new InputError('usage', `${missing[0]} needs a value`, hint);
}

function unknownInGroup(first: string, second: string): InputError {
  const meant = nearest(`${first} ${second}`, COMMAND_NAMES);
  const line = `unknown command: ${first} ${second}${question(meant)}`;
  return new InputError('usage', line, '`goshawk --help` shows how');
}

function question(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** Also of an option that somebody cut short, such as `--no-steal`. */
function nearestOption(typed: string, specs: OptionSpecs): string | undefined {
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
