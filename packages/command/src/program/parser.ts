import { InputError } from '@goshawk/core';
import yargs, { type ArgumentsCamelCase, type Argv, type Options } from 'yargs';
import type { Command } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { kebab, type OptionSpecs } from '../options.js';
import { VERSION } from '../version.js';
import { helpOn, plainly } from './help.js';
import type { Program } from './program.js';
import { asTyped, seeHelp, unknownCommand, unknownInGroup, unknownOptions } from './suggestions.js';

/** A parsed command line. */
interface GivenLine {
  readonly command: Command;
  /** Values of the given options by name (camel case). */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly words: readonly string[];
  /** Set if there are too few or too many words, to be thrown before the command runs. */
  readonly miscounted: InputError | undefined;
}

/** A command with its arguments, or the requested help. */
interface Parsed {
  readonly given: GivenLine | undefined;
  readonly help: string;
}

/** Options of every command that the parser handles; they are not settings. */
const ABOUT_OPTIONS = {
  help: { type: 'flag', setting: false, alias: 'h', describe: 'show the help of the command' },
  version: { type: 'flag', setting: false, describe: 'print the version' },
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
  const printed = (help: string): Parsed => ({ given: undefined, help });
  // This answer needs no commands, which load slowly.
  if (words.length === 1 && words[0] === '--version') return printed(VERSION);
  const isTopic = words.length === 0 || words[0] === 'help';
  const line = new CommandLine(program, isTopic ? [...words.slice(1), '--help'] : words, hasMore);
  const { topic, flags, command, words: rest, miscounted } = await line.read();
  const { help, version, ...others } = flags;
  if (help) return printed(await helpOn(program, topic, columns, 'all' in others));
  if (version) return printed(VERSION);
  return { given: { command: command!, flags: others, words: rest, miscounted }, help: '' };
}

/** Messages of yargs for the number of words of a command. */
const TOO_FEW = 'too few words';
const TOO_MANY = 'too many words';

/** Ends the work of yargs once it has read a command: it would lay out a help page that nobody asked for. */
class Finished extends Error {
  readonly argv: ArgumentsCamelCase;

  constructor(argv: ArgumentsCamelCase) {
    super('finished');
    this.argv = argv;
  }
}

/** A command line that yargs reads. Yargs finds the command, and the command is loaded only then. */
class CommandLine {
  readonly #program: Program;
  readonly #argv: readonly string[];
  readonly #hasMore: boolean;
  readonly #yargs: Argv = yargs();
  /** Names of the command that was found, or of its group. */
  #topic: readonly string[] = [];
  #command: Command | undefined;
  /** An unknown option, which may have taken a word for its value, is reported first. */
  #miscounted: InputError | undefined;

  constructor(program: Program, argv: readonly string[], hasMore: boolean) {
    this.#program = program;
    this.#argv = argv;
    this.#hasMore = hasMore;
  }

  async read() {
    const argv = this.#argv;
    plainly(this.#yargs)
      .options(declared({ ...GLOBAL_OPTIONS, ...ABOUT_OPTIONS }, argv))
      .options(declared(argv[0]?.startsWith('-') ? await this.#optionsOfAny(argv) : {}, argv, false))
      .strictCommands()
      .strictOptions()
      .demandCommand(1, 'no command; `goshawk --help` lists them')
      .fail((message: string | null, error) => {
        if (message === null || error !== undefined) throw error;
        this.#refuse(message);
      });
    for (const name of this.#candidates()) {
      if (Object.hasOwn(this.#program.groups, name)) this.#addGroup(name);
      else this.#add(this.#yargs, namesOf(name, this.#program), name);
    }
    const { _: positionals, $0: _, ...flags } = await this.#parsed();
    const rest = positionals.slice(this.#topic.length).map(String);
    if (this.#isHelpWord(rest)) flags.help = true;
    if (this.#command !== undefined && !flags.help) {
      checkValues(this.#command, argv);
      refuseNegated(this.#command, flags, argv);
    }
    return { topic: this.#topic, command: this.#command, flags, words: rest, miscounted: this.#miscounted };
  }

  /** Returns the commands and groups that the line may name, since declaring all of them takes several ms. */
  #candidates(): string[] {
    const all = [...new Set(this.#program.names.map((name) => name.split(' ')[0]!))];
    const words = new Set(this.#argv);
    const named = all.filter((name) => namesOf(name, this.#program).some((each) => words.has(each)));
    // Without any command, yargs would not report an unknown one.
    return named.length > 0 ? named : all.slice(0, 1);
  }

  async #parsed() {
    try {
      return await this.#yargs.parseAsync(this.#argv);
    } catch (error) {
      if (error instanceof Finished) return error.argv;
      const [, name] = /^Not enough arguments following: (.*)$/s.exec((error as Error).message) ?? [];
      // A help page must not hide that an option consumed the word before it.
      throw name === undefined ? error : needsValue(name, this.#command, this.#argv);
    }
  }

  #add(to: Argv, words: string | string[], name: string): void {
    const load = async (inner: Argv): Promise<Argv> => {
      const command = (await this.#program.named(name))!;
      this.#topic = name.split(' ');
      this.#command = command;
      return inner
        .options(declared(command.options, this.#argv))
        .strictCommands(false)
        .demandCommand(command.wordsMin, command.wordsMax, TOO_FEW, TOO_MANY);
    };
    to.command(words, false, load, (argv) => {
      throw new Finished(argv);
    });
  }

  #addGroup(group: string): void {
    this.#yargs.command(group, false, async (inner) => {
      this.#topic = [group];
      const members = this.#program.names.flatMap((name) =>
        name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : [],
      );
      for (const second of members) this.#add(inner, second, `${group} ${second}`);
      const isOptionNext = this.#argv[this.#argv.indexOf(group) + 1]?.startsWith('-');
      return inner
        .options(declared(isOptionNext ? await this.#optionsOfAny([group]) : {}, this.#argv, false))
        .demandCommand(1, `${group} needs one of: ${members.join(', ')}`);
    });
  }

  /**
   * Returns the options of all commands that the words may name. Options may precede the command, which
   * determines whether they take a value.
   */
  async #optionsOfAny(words: readonly string[]): Promise<OptionSpecs> {
    const candidates = await this.#program.namedIn(words);
    return Object.assign({}, ...candidates.map(({ options }) => options));
  }

  #isHelpWord(rest: readonly unknown[]): boolean {
    return rest.length === 1 && rest[0] === 'help' && !this.#hasMore && this.#topic.length > 0;
  }

  /** Converts an error of yargs. A request for help excuses all but unknown commands. */
  #refuse(message: string): void {
    const { argv } = this.#yargs.parsed as { argv: Record<string, unknown> & { _: unknown[] } };
    const rest = argv._.slice(this.#topic.length).map(String);
    const asksHelp = argv.help === true || this.#isHelpWord(rest);
    const command = this.#command;
    if (message.startsWith('Unknown command')) {
      if (this.#isHelpWord(rest)) return;
      const [group] = this.#topic;
      throw group === undefined
        ? unknownCommand(this.#program, rest[0]!)
        : unknownInGroup(this.#program, group, rest[0]!);
    }
    if (asksHelp || argv.version === true) return;
    const [, unknown] = /^Unknown arguments?: (.*)$/s.exec(message) ?? [];
    if (unknown !== undefined) {
      if (command !== undefined) checkValues(command, this.#argv);
      throw unknownOptions(unknown.split(', '), this.#argv, command);
    }
    if (command === undefined) throw new InputError('usage', message, seeHelp(command));
    const { name, words, wordsMax } = command;
    const line =
      message === TOO_FEW ? `${name} needs ${words}` : `${name}: "${rest[wordsMax]}" is not expected`;
    this.#miscounted = new InputError('usage', line, seeHelp(command));
  }
}

/**
 * Declares options to yargs without conversion of values and without defaults, because variables and files
 * take precedence over defaults. A repeated option yields a list.
 *
 * @param isGlobal whether commands have them, too
 */
export function declared(
  specs: OptionSpecs,
  argv: readonly string[],
  isGlobal = true,
): Record<string, Options> {
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => {
      const flag = kebab(name);
      // An optional value after `=` counts as needed, because yargs strips quotes from other optional values.
      const isOptional =
        spec.type === 'text' &&
        spec.valueOptional &&
        !argv.some((word) => word.startsWith(`--${flag}=`) || word.startsWith(`--${name}=`));
      const value: Options =
        spec.type === 'flag' ? { type: 'boolean' } : { type: 'string', ...(isOptional ? {} : { nargs: 1 }) };
      const alias = spec.alias === undefined ? {} : { alias: spec.alias };
      return [flag, { ...value, ...alias, global: isGlobal }];
    }),
  );
}

/** Returns the name of a command, and its singular, such as `log`, if no other command has that name. */
function namesOf(name: string, { names, groups }: Program): string[] {
  const singular = name.replace(/s$/, '');
  return names.includes(singular) || Object.hasOwn(groups, singular)
    ? [name]
    : [...new Set([name, singular])];
}

/** @throws InputError for a flag with a value other than true or false, and for `--name=` of an optional value */
function checkValues(command: Command, argv: readonly string[]): void {
  const specs: OptionSpecs = { ...command.options, ...GLOBAL_OPTIONS };
  for (const word of argv) {
    const [, name, value] = /^--(?:no-)?([^=]+)=([\s\S]*)$/.exec(word) ?? [];
    const [, spec] = Object.entries(specs).find(([each]) => each === name || kebab(each) === name) ?? [];
    // Yargs reads every other value of a flag as false.
    if (spec?.type === 'flag' && value !== 'true' && value !== 'false')
      throw new InputError('bad-option', `--${name}: "${value}" is neither true nor false`, seeHelp(command));
    // An empty variable in `--export-env=$NAMES` must not mean everything.
    if (spec?.type === 'text' && spec.valueOptional && value === '')
      throw new InputError(
        'bad-option',
        `--${name}= has an empty value`,
        `write --${name} for all variables`,
      );
  }
}

/** @throws InputError for the negation of an option that takes a value, which yargs accepts */
function refuseNegated(
  command: Command,
  flags: Readonly<Record<string, unknown>>,
  argv: readonly string[],
): void {
  const specs: OptionSpecs = { ...command.options, ...GLOBAL_OPTIONS };
  const negated = Object.entries(specs).flatMap(([name, { type }]) =>
    type !== 'flag' && [flags[name]].flat().includes(false) ? [name] : [],
  );
  if (negated.length > 0) throw unknownOptions(negated, argv, command);
}

function needsValue(name: string, command: Command | undefined, argv: readonly string[]): InputError {
  const flag = asTyped(kebab(name), argv);
  const next = argv[argv.findLastIndex((word) => word === flag || word === `--${name}`) + 1];
  const hint = next?.startsWith('-') ? `write ${flag}=${next} if that is the value` : seeHelp(command);
  return new InputError('usage', `${flag} needs a value`, hint);
}
