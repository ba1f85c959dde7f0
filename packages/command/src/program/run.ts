import { isatty } from 'node:tty';
import { exitCodeOfSignal, GoshawkError, InputError, whyUnread } from '@goshawk/core';
import { type Command, ExitCode, type Positionals, wordsFor } from '../command.js';
import {
  type Context,
  GLOBAL_OPTIONS,
  type GlobalOptions,
  isReadByProgram,
  type OutputStream,
} from '../context.js';
import { describeFailure, failureText } from '../failure.js';
import { bytesOf } from '../given-file.js';
import { flagOf, type OptionSpecs, readConfigFile, resolveOptions, type Sources } from '../options.js';
import { plain } from '../terminal/paint.js';
import { wrapProse } from '../terminal/width.js';
import { ASKS_COMPLETIONS, completionsOf } from './completion.js';
import { parse } from './parser.js';
import type { Program } from './program.js';
import { checkArguments } from './raw-arguments.js';
import { checkFileNames, strayVariables } from './stray-settings.js';

/** Streams and environment of a command, normally those of the process. */
interface Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly interrupted: AbortSignal;
  /** Path of the script that runs commands. */
  readonly executable: string;
}

/**
 * Runs one command line.
 *
 * @param argv without node and the script
 * @returns the exit code
 */
export async function run(program: Program, argv: readonly string[], terminal: Terminal): Promise<number> {
  const { interrupted } = terminal;
  const exitCode = await (async () => {
    try {
      checkArguments(argv);
      return await dispatch(program, argv, terminal);
    } catch (error) {
      return tellUnlessInterrupted(error, errorFormat(argv, terminal.environment), terminal);
    }
  })();
  // Commands report an interruption; which signal caused it is known only here.
  return exitCode === ExitCode.interrupted ? codeOfInterruption(interrupted.reason) : exitCode;
}

/** Returns the exit code after a signal, as a shell reports it: 130 for SIGINT, 143 for SIGTERM. */
export function codeOfInterruption(signal: unknown): number {
  return exitCodeOfSignal(String(signal)) ?? ExitCode.interrupted;
}

type ErrorFormat = Pick<GlobalOptions, 'json' | 'verbose'>;

/** Returns how to print errors of a command line that could not be parsed, or has not been yet. */
export function errorFormat(argv: readonly string[], environment: Terminal['environment']): ErrorFormat {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const isOn = (name: string, variable: string, ...aliases: string[]): boolean => {
    const on = [`--${name}`, `--${name}=true`, ...aliases];
    const word = own.findLast((each) => [...on, `--no-${name}`, `--${name}=false`].includes(each));
    return word === undefined ? ['1', 'true'].includes(environment[variable] ?? '') : on.includes(word);
  };
  return { json: isOn('json', 'GOSHAWK_JSON'), verbose: isOn('verbose', 'GOSHAWK_VERBOSE', '-v') };
}

/**
 * Prints an error on stderr.
 *
 * @returns the exit code
 */
export function tellFailure(error: unknown, { json, verbose }: ErrorFormat, stderr: OutputStream): number {
  const failure = describeFailure(error);
  const { exitCode } = failure;
  if (json) {
    stderr.write(`${failureText(failure, true)}\n`);
  } else {
    stderr.write(`${forTerminal(failureText(failure, false), stderr)}\n`);
    if (verbose) stderr.write(`${causesOf(error)}\n`);
  }
  return exitCode;
}

/** A user who pressed Ctrl-C needs no explanation. */
function tellUnlessInterrupted(
  error: unknown,
  format: ErrorFormat,
  { interrupted, stderr }: Pick<Terminal, 'interrupted' | 'stderr'>,
): number {
  if (interrupted.aborted && error === interrupted.reason) return ExitCode.interrupted;
  return tellFailure(error, format, stderr);
}

/** Wraps a text at spaces, because a terminal breaks lines within words. */
function forTerminal(text: string, { isTTY, columns }: OutputStream): string {
  return isTTY === true && columns ? wrapProse(text, columns) : text;
}

async function dispatch(program: Program, argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv[0] === ASKS_COMPLETIONS) return complete(program, argv.slice(1), terminal);
  const dashes = argv.indexOf('--');
  const before = dashes < 0 ? argv : argv.slice(0, dashes);
  const afterDashes = dashes < 0 ? undefined : argv.slice(dashes + 1);
  const { given, help } = await parse(program, before, terminal.stdout.columns || 100, dashes >= 0);
  if (given === undefined) {
    terminal.stdout.write(`${help}\n`);
    return ExitCode.done;
  }
  const { command, flags, words, miscounted } = given;
  // An unset variable, as in `goshawk wait "$id"`, must not mean this folder or every job.
  if (words.includes(''))
    throw new InputError('usage', `${command.name}: an argument is empty`, 'check its variable');
  if (miscounted !== undefined) throw miscounted;
  if (command.needsNoCluster && flags.cluster !== undefined) throw clusterUnused(command);
  if (afterDashes !== undefined && !command.words.includes('--')) {
    throw new InputError('usage', `${command.name} takes no arguments after --`);
  }
  return runCommand(program, command, flags, { words: wordsFor(command, words), afterDashes }, terminal);
}

/** Prints completions for a shell; errors must not disturb its prompt. */
async function complete(program: Program, words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const { offered, kind, globals } = await completionsOf(program, words);
    for (const each of offered) terminal.stdout.write(`${each}\n`);
    if (kind !== undefined)
      await dispatch(program, ['completion', ...globals, kind], {
        ...terminal,
        stderr: { write: () => true },
      });
  } catch (error) {
    if (!(error instanceof GoshawkError)) throw error;
  }
  return ExitCode.done;
}

async function runCommand(
  program: Program,
  command: Command,
  flags: Readonly<Record<string, unknown>>,
  positionals: Positionals,
  terminal: Terminal,
): Promise<number> {
  const { environment } = terminal;
  const { config } = GLOBAL_OPTIONS;
  const fileName = resolveOptions({ config }, { flags, environment, file: {}, fileName: '' }).values.config;
  const file = fileName === undefined ? {} : await readConfigFile(fileName, terminal.interrupted);
  const sources = { flags, environment, file, fileName: fileName ?? '' };
  const warnings = await checkSettings(program, command, sources);
  const global = resolveOptions(GLOBAL_OPTIONS, sources).values;
  const context = contextOf(global, file, terminal);
  try {
    const { values, origins } = resolveOptions(command.options, sources);
    const options = await program.loadModules(values, terminal.cwd, command.modules);
    for (const warning of warnings) context.note(plain(warning));
    return (await command.run(context, options, positionals, origins)) ?? ExitCode.done;
  } catch (error) {
    return tellUnlessInterrupted(error, global, terminal);
  }
}

/**
 * Checks for settings that no command reads.
 *
 * @returns warnings about variables
 * @throws InputError that names a setting in the file
 */
async function checkSettings(program: Program, command: Command, sources: Sources): Promise<string[]> {
  const specsOf = (commands: readonly Command[]): OptionSpecs[] => [
    GLOBAL_OPTIONS,
    ...commands.map(({ options }) => options),
  ];
  try {
    checkFileNames(specsOf([command]), sources);
    if (strayVariables(specsOf([command]), sources).length === 0) return [];
  } catch {
    // Another command may have this setting. Files and the environment are shared by all commands, but other
    // commands are loaded only here.
  }
  const all = specsOf(await program.all());
  checkFileNames(all, sources);
  return strayVariables(all, sources);
}

function contextOf(global: GlobalOptions, configFile: Context['configFile'], terminal: Terminal): Context {
  const { stdout, stderr, environment } = terminal;
  const usesColor = global.color && !environment.NO_COLOR;
  const out = (text: string): void => void stdout.write(`${text}\n`);
  const json = (value: unknown): void => out(JSON.stringify(value));
  return {
    global,
    configFile,
    color: usesColor && stdout.isTTY === true && !global.json,
    errorColor: usesColor && stderr.isTTY === true,
    // A terminal of unknown width reports 0.
    columns: stdout.columns || (stdout.isTTY === true ? 100 : Number.POSITIVE_INFINITY),
    show: (value, words) => (global.json ? json(value) : out(words())),
    out,
    json,
    note: (text) => {
      if (!global.quiet && !isReadByProgram(global, stderr)) stderr.write(`${forTerminal(text, stderr)}\n`);
    },
    stdout,
    stderr,
    ask:
      stderr.isTTY === true && isatty(0) && !global.json
        ? (question) => answerOf(terminal, question)
        : undefined,
    readInput: (bytesMax) => readInput(terminal, bytesMax),
    interrupted: terminal.interrupted,
    environment,
    cwd: terminal.cwd,
    executable: terminal.executable,
  };
}

/** Returns the next line of stdin; empty after the end of stdin. */
async function answerOf({ stdin, stderr, interrupted }: Terminal, question: string): Promise<string> {
  stderr.write(question);
  const answer = (async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const part of stdin) {
      text += decoder.decode(part, { stream: true });
      if (text.includes('\n')) break;
    }
    return text.split('\n')[0]!.trim();
  })();
  return Promise.race([
    answer,
    new Promise<never>((_, reject) => {
      interrupted.addEventListener('abort', () => {
        // An open stdin would keep the process from ending.
        (stdin as { destroy?: () => void }).destroy?.();
        reject(interrupted.reason);
      });
    }),
  ]);
}

async function readInput({ stdin, interrupted }: Terminal, bytesMax?: number): Promise<Uint8Array> {
  try {
    return await bytesOf(stdin, interrupted, bytesMax);
  } catch (error) {
    interrupted.throwIfAborted();
    throw new InputError('bad-input', `cannot read stdin: ${whyUnread(error)}`, '', { cause: error });
  }
}

/** A setting of the same name is accepted, because all commands share settings. */
function clusterUnused({ name, options }: Command): InputError {
  const own = ['centralUrl', 'on'].find((option) => Object.hasOwn(options, option));
  const hint = own === undefined ? 'omit it' : `use ${flagOf(own)}`;
  return new InputError('usage', `${name}: --cluster has no effect`, hint);
}

function causesOf(error: unknown): string {
  const lines: string[] = [];
  try {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      lines.push(cause.stack ?? cause.message);
  } catch {
    // Fields of a value that a module of the user threw may throw.
  }
  return lines.join('\ncaused by: ');
}
