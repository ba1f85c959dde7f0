import { InputError } from '@goshawk/core';
import yargs, { type Argv } from 'yargs';
import type { Command, Positionals } from './command.js';
import { ExitCode } from './command.js';
import { allCommands, COMMAND_GROUPS, commandsNamedIn } from './commands/index.js';
import { type Context, GLOBAL_OPTIONS, type GlobalOptions, type OutputStream } from './context.js';
import { describeFailure, failureLine } from './failure.js';
import { flagOf, kebab, type OptionSpec, readConfigFile, resolveOptions, type Sources } from './options.js';
import { SettingNames } from './stray-settings.js';
import { VERSION } from './version.js';

/** Where a command's words go; the real one is the process. */
export interface Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly interrupted: AbortSignal;
}

/**
 * Runs one command line.
 *
 * @param argv without node and the script
 * @returns the exit code
 */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  // Known before anything is parsed, so that a usage error, too, comes as it was asked for.
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const asked = { json: own.includes('--json'), verbose: own.includes('--verbose') || own.includes('-v') };
  try {
    return await dispatch(argv, terminal);
  } catch (error) {
    // Who pressed Ctrl-C knows why it ended.
    if (terminal.interrupted.aborted && error === terminal.interrupted.reason) return ExitCode.interrupted;
    const failure = describeFailure(error);
    if (asked.json) {
      const { code, message, hint } = failure;
      terminal.stderr.write(`${JSON.stringify({ schema: 'goshawk.error/1', code, message, hint })}\n`);
    } else {
      terminal.stderr.write(`${failureLine(failure)}\n`);
      if (asked.verbose) terminal.stderr.write(`${causesOf(error)}\n`);
    }
    return failure.exitCode;
  }
}

async function dispatch(argv: readonly string[], terminal: Terminal): Promise<number> {
  const dashes = argv.indexOf('--');
  const before = dashes < 0 ? argv : argv.slice(0, dashes);
  const afterDashes = dashes < 0 ? undefined : argv.slice(dashes + 1);
  let exitCode: number = ExitCode.done;
  let printed = '';
  const isHelp =
    before.length === 0 || before.some((word) => word === '--help' || word === '-h' || word === '--version');
  const handle: Handle = async (command, given) => {
    const parsed = undisguised(given);
    const words = [...((parsed.words as string[] | undefined) ?? [])].map(String);
    checkWords(command, words);
    if (afterDashes !== undefined && !command.words.includes('--')) {
      throw new InputError('usage', `${command.name} takes nothing after --`);
    }
    exitCode = await runCommand(command, parsed, { words, afterDashes }, terminal);
  };
  const parser = buildParser(before, await commandsWanted(before, isHelp), { handle, isHelp });
  await parser.parseAsync(
    before.length === 0 ? ['--help'] : before.map(disguised),
    {},
    (error, _argv, output) => {
      printed = output;
      if (error !== undefined && error !== null) throw error;
    },
  );
  if (isHelp && printed !== '') terminal.stdout.write(`${printed}\n`);
  return exitCode;
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

/** Those that the parser has to know for this command line. */
async function commandsWanted(argv: readonly string[], isHelp: boolean): Promise<readonly Command[]> {
  if (argv.includes('--version')) return [];
  // Help on everything, unless it begins with what it is wanted on.
  return isHelp && (argv[0] ?? '-').startsWith('-') ? allCommands() : commandsNamedIn(argv);
}

function buildParser(argv: readonly string[], commands: readonly Command[], how: Parsing): Argv {
  let parser: Argv = yargs()
    .scriptName('goshawk')
    .usage(
      '$0 COMMAND [OPTIONS]\n\nA hybrid cluster scheduler: central brings free workers and jobs together, and while it is away schedulers probe.',
    )
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
    .help('help')
    .alias('help', 'h')
    .version(VERSION)
    .wrap(100)
    .fail((message, error) => {
      throw error ?? new InputError('usage', usageLine(message, argv), '`goshawk --help` shows how');
    });
  for (const command of commands) {
    if (!command.name.includes(' ')) parser = addCommand(parser, command, how);
  }
  for (const [group, describe] of Object.entries(COMMAND_GROUPS)) {
    const members = commands.filter(({ name }) => name.startsWith(`${group} `));
    if (members.length === 0) continue;
    parser = parser.command(group, describe, (builder) => addGroup(builder, group, members, how));
  }
  return parser;
}

type Handle = (command: Command, parsed: Record<string, unknown>) => Promise<void>;

interface Parsing {
  readonly handle: Handle;
  /**
   * Somebody wants to read the help. The parser composes it in any case, and without options that takes a tenth of
   * a second less.
   */
  readonly isHelp: boolean;
}

function addCommand(parser: Argv, command: Command, { handle, isHelp }: Parsing): Argv {
  return parser.command(
    `${command.name.split(' ').at(-1)}${command.wordsMax > 0 ? ' [words..]' : ''}`,
    command.describe,
    (builder) => describeCommand(builder, command, isHelp),
    (parsed) => handle(command, parsed as Record<string, unknown>),
  );
}

/** Commands of two words, such as `trace stats`. */
function addGroup(parser: Argv, group: string, members: readonly Command[], how: Parsing): Argv {
  const names = members.map(({ name }) => name.slice(group.length + 1)).join(', ');
  return members
    .reduce(
      (described, command) => addCommand(described, command, how),
      parser.usage(`goshawk ${group} COMMAND`),
    )
    .demandCommand(1, `${group} what? there are ${names}`);
}

function describeCommand(builder: Argv, command: Command, isShown: boolean): Argv {
  let described = builder.usage(`goshawk ${command.name} ${command.words}\n\n${command.describe}`);
  for (const [name, spec] of Object.entries(command.options))
    described = declare(described, name, spec, 'Options:', isShown);
  for (const [name, spec] of Object.entries(GLOBAL_OPTIONS))
    described = declare(described, name, spec, 'Everywhere:', isShown);
  for (const [example, does] of command.examples) described = described.example(example, does);
  return described;
}

function declare(parser: Argv, name: string, spec: OptionSpec, group: string, isShown: boolean): Argv {
  const shown =
    'default' in spec && spec.default !== undefined && spec.type !== 'flag' ? ` [${spec.default}]` : '';
  const choices = spec.type === 'text' && spec.choices !== undefined ? ` (${spec.choices.join(', ')})` : '';
  return parser.option(kebab(name), {
    // No default here: what is not given must stay visible as such, for variables and files to fill in.
    type: spec.type === 'flag' ? 'boolean' : spec.type === 'texts' ? 'array' : 'string',
    describe: `${spec.describe}${choices}${shown}`,
    group,
    hidden: !isShown,
    requiresArg: spec.type !== 'flag',
    ...(spec.alias === undefined ? {} : { alias: spec.alias }),
    ...(spec.type === 'texts' ? { nargs: 1 } : {}),
  });
}

async function runCommand(
  command: Command,
  parsed: Record<string, unknown>,
  positionals: Positionals,
  terminal: Terminal,
): Promise<number> {
  const { environment } = terminal;
  const fileName = (parsed.config as string | undefined) ?? environment.GOSHAWK_CONFIG;
  const file = fileName === undefined ? {} : readConfigFile(fileName);
  const sources = { flags: parsed, environment, file, fileName: fileName ?? '' };
  await checkSettings(command, sources);
  const global = resolveOptions(GLOBAL_OPTIONS, sources).values;
  const { values, origins } = resolveOptions(command.options, sources);
  return command.run(contextOf(global, terminal), values, positionals, origins);
}

/** @throws InputError that names a setting in the file or the environment that no command would read */
async function checkSettings(command: Command, { file, fileName, environment }: Sources): Promise<void> {
  const check = (commands: readonly Command[]): void => {
    const names = new SettingNames([GLOBAL_OPTIONS, ...commands.map(({ options }) => options)]);
    names.checkFile(file, fileName);
    names.checkEnvironment(environment);
  };
  try {
    check([command]);
  } catch {
    // All share files and the environment; but the others are loaded only for what this one does not know.
    check(await allCommands());
  }
}

function contextOf(global: GlobalOptions, terminal: Terminal): Context {
  const { stdout, stderr, environment } = terminal;
  const wantsColor = global.color && !environment.NO_COLOR;
  return {
    global,
    color: wantsColor && stdout.isTTY === true && !global.json,
    errorColor: wantsColor && stderr.isTTY === true,
    columns: stdout.columns ?? 100,
    out: (text) => void stdout.write(`${text}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value)}\n`),
    note: (text) => {
      if (!global.quiet) stderr.write(`${text}\n`);
    },
    stdout,
    stderr,
    readInput: () => readAll(terminal.stdin),
    interrupted: terminal.interrupted,
    environment,
    cwd: terminal.cwd,
  };
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

function checkWords(command: Command, words: readonly string[]): void {
  const { name, wordsMin, wordsMax } = command;
  if (words.length < wordsMin) {
    throw new InputError('usage', `${name} needs ${command.words}`, `\`goshawk ${name} --help\` shows how`);
  }
  if (words.length > wordsMax) {
    throw new InputError(
      'usage',
      `${name}: "${words[wordsMax]}" is one word too many`,
      `\`goshawk ${name} --help\` shows how`,
    );
  }
}

/** yargs writes sentences; ours begin in lower case and name options as they are typed. */
function usageLine(message: string, argv: readonly string[]): string {
  const unknown = /^Unknown (?:arguments?|commands?): (.*)$/.exec(message);
  if (unknown !== null) {
    const words = unknown[1]!.split(', ');
    const word = words.find((each) => argv.includes(each));
    if (word !== undefined) return unknownWord(word, argv);
    const names = [...new Set(words.map(kebab))];
    return `unknown option${names.length > 1 ? 's' : ''}: ${names.map((name) => (name.length > 1 ? flagOf(name) : `-${name}`)).join(', ')}`;
  }
  const line = message.trim().split('\n')[0] ?? 'wrong usage';
  return line.charAt(0).toLowerCase() + line.slice(1);
}

function unknownWord(word: string, argv: readonly string[]): string {
  const [first] = argv.filter((each) => !each.startsWith('-'));
  if (word === first) return `unknown command: ${word}`;
  if (Object.hasOwn(COMMAND_GROUPS, first ?? '')) return `unknown command: ${first} ${word}`;
  return `${first}: "${word}" is one word too many`;
}

function causesOf(error: unknown): string {
  const lines: string[] = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    lines.push(cause.stack ?? cause.message);
  return lines.join('\ncaused by: ');
}
