import {
  type ExecPayload,
  InputError,
  type JobInput,
  LIMITS,
  type ModulePayload,
  present,
} from '@goshawk/core';
import { pairIn } from '../pairs.js';
import { exportedEnvironment } from './export-env.js';
import { absoluteModule, folderOf } from './folders.js';
import type { SubmitOptions } from './options.js';
import { arrayShares, lineShares, type Share } from './shares.js';
import type { Work } from './work.js';

/** Where relative paths start, and what files hold. */
export interface Sources {
  readonly cwd: string;
  /** @param what names the option in errors; the path `-` is stdin @throws InputError when it cannot be read */
  read(path: string, what: string): Promise<Uint8Array>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Tasks = NonNullable<JobInput['tasks']>;
type TaskWork = Exclude<Work, { kind: 'file' }>;

const PLACEHOLDER = '{}';
/**
 * Bytes of one variable, with its name, `=` and the NUL at its end: what Linux takes (MAX_ARG_STRLEN). What
 * does not fit comes by stdin only.
 */
const VARIABLE_BYTES_MAX = 128 * 1024;

/** The tasks that the options ask for. @throws InputError when something that they need cannot be had */
export async function buildTasks(work: TaskWork, options: SubmitOptions, sources: Sources): Promise<Tasks> {
  const count = options.tasks ?? 1;
  if (work.kind === 'sleep') return { count, run: { sleep: work.ms } };
  const shares = await sharesOf(options, sources);
  if (work.kind === 'module') {
    const call = moduleCall(work, options, sources);
    return shares === undefined ? { count, run: call } : shares.map((share) => callWith(call, share));
  }
  const command = await commandLine(work, options, sources);
  if (shares === undefined) return { count, run: command };
  checkShellLine(command, options);
  return shares.map((share) => commandWith(command, share));
}

async function sharesOf(options: SubmitOptions, sources: Sources): Promise<Share[] | undefined> {
  const { array, eachLine } = options;
  if (array !== undefined) return arrayShares(array);
  if (eachLine === undefined) return undefined;
  return lineShares(await sources.read(eachLine, '--each-line'), eachLine === '-' ? 'stdin' : eachLine);
}

// ---- modules

function moduleCall(
  work: Extract<Work, { kind: 'module' }>,
  options: SubmitOptions,
  sources: Sources,
): ModulePayload {
  return {
    module: absoluteModule(work.path, folderOf(options, sources)),
    ...present({ export: work.export }),
    ...(options.input === undefined ? {} : { input: parseInput(options.input) }),
  };
}

function callWith(call: ModulePayload, share: Share): ModulePayload {
  if ('problem' in share.text) throw noText(share, share.text.problem, 'be the input of a module');
  return { ...call, input: share.input };
}

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(
      'bad-input',
      `--input: not JSON: ${(error as Error).message}`,
      `text is written in quotes: --input '"text"'`,
      { cause: error },
    );
  }
}

// ---- commands

const ENV = { option: '--env', hint: 'such as THREADS=4' } as const;

async function commandLine(
  work: Extract<Work, { kind: 'command' }>,
  options: SubmitOptions,
  sources: Sources,
): Promise<ExecPayload> {
  const { shell, stdin, stdout, stderr } = options;
  const env = variables(options, sources);
  return {
    exec: [...work.argv],
    ...(shell ? { shell } : {}),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    cwd: folderOf(options, sources),
    ...(stdin === undefined ? {} : { stdin: await sources.read(stdin, '--stdin') }),
    ...present({ stdout, stderr }),
  };
}

/** Those of `--env` go before exported ones. */
function variables({ env, exportEnv }: SubmitOptions, { environment }: Sources): Record<string, string> {
  return {
    ...(exportEnv === undefined ? {} : exportedEnvironment(environment, exportEnv)),
    ...Object.fromEntries(env.map((text) => pairIn(text, ENV))),
  };
}

function commandWith(command: ExecPayload, share: Share): ExecPayload {
  const variable = variableOf(share);
  return {
    ...command,
    exec: command.exec.map((argument) =>
      argument.includes(PLACEHOLDER) ? fillIn(argument, share) : argument,
    ),
    ...(variable === undefined ? {} : { env: { ...command.env, ...variable } }),
    ...present({ stdin: share.stdin }),
  };
}

function fillIn(argument: string, share: Share): string {
  if ('problem' in share.text) throw noText(share, share.text.problem, 'stand in an argument');
  const { text } = share.text;
  const filled = argument.replaceAll(PLACEHOLDER, () => text);
  if (filled.length > LIMITS.argumentLengthMax) throw noText(share, 'is too long', 'stand in an argument');
  return filled;
}

function variableOf({ text, variable }: Share): Record<string, string> | undefined {
  if ('problem' in text) return undefined;
  const bytes = Buffer.byteLength(text.text) + variable.length + 2;
  return bytes > VARIABLE_BYTES_MAX ? undefined : { [variable]: text.text };
}

/** A number may stand in code; what somebody else has written may not. */
function checkShellLine(command: ExecPayload, options: SubmitOptions): void {
  if (!options.shell || options.eachLine === undefined || !command.exec[0]!.includes(PLACEHOLDER)) return;
  throw new InputError(
    'usage',
    '--each-line: in a line for the shell, {} would be read as code',
    `write "$GOSHAWK_LINE" there, or give the line to it: --shell -- 'echo "$1"' {}`,
  );
}

function noText({ where }: Share, problem: string, use: string): InputError {
  return new InputError(
    'bad-lines',
    `--each-line: ${where} ${problem}, so it cannot ${use}`,
    'a command can read it from stdin',
  );
}
