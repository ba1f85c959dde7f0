import { pairsIn } from '@goshawk/command';
import {
  type ExecPayload,
  formatCount,
  InputError,
  type JobInput,
  type ModulePayload,
  parseExactJson,
  present,
  sumOf,
} from '@goshawk/core';
import { exportedEnvironment } from './export-env.js';
import { absoluteModule, folderOf } from './folders.js';
import { splitModule } from './module-path.js';
import type { SubmitOptions } from './options.js';
import { filledIn, hasForeignPlaceholder, IN_PATH, noText } from './placeholders.js';
import { arrayShares, combined, lineShares, type Share } from './shares.js';
import type { Work } from './work.js';

/** Base folder of relative paths, and file contents. */
export interface Sources {
  readonly cwd: string;
  /**
   * @param path `-` is stdin
   * @param what name of the option, for errors
   * @throws InputError if it cannot be read
   */
  read(path: string, what: string): Promise<Uint8Array>;
  /** Reports whether a file exists here; workers may have other files. */
  exists(path: string): boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Tasks = NonNullable<JobInput['tasks']>;
type TaskWork = Exclude<Work, { kind: 'file' }>;

/**
 * Maximum size of a variable with its name, `=` and a NUL, which Linux limits (MAX_ARG_STRLEN). Longer values
 * are passed only by stdin. Bytes.
 */
const VARIABLE_BYTES_MAX = 128 * 1024;

/**
 * Builds the tasks that the options request.
 *
 * @throws InputError if a file or value that they need is missing
 */
export async function buildTasks(work: TaskWork, options: SubmitOptions, sources: Sources): Promise<Tasks> {
  const count = options.tasks ?? 1;
  if (work.kind === 'sleep') return { count, run: { sleep: work.ms } };
  const shares = await sharesOf(options, sources);
  if (work.kind === 'module') {
    const call = moduleCall(work, options, sources);
    if (shares === undefined) return { count, run: call };
    checkSize(shares.length, callWith(call, shares[0]!), options);
    return shares.map((share) => callWith(call, share));
  }
  const command = await commandLine(work, options, sources);
  if (shares === undefined) return { count, run: command };
  checkShellLine(command, options, shares[0]!);
  checkSize(shares.length, commandWith(command, shares[0]!), options);
  return shares.map((share) => commandWith(command, share));
}

async function sharesOf(options: SubmitOptions, sources: Sources): Promise<Share[] | undefined> {
  const { array, eachLine, param, colsep, header } = options;
  if (eachLine === undefined && (colsep !== undefined || header)) {
    throw new InputError('usage', `submit: ${header ? '--header' : '--colsep'} needs --each-line`);
  }
  if (array !== undefined) return combined(arrayShares(array), param);
  if (eachLine === undefined) return combined(undefined, param);
  const bytes = await sources.read(eachLine, '--each-line');
  const columns = { colsep: colsep?.replaceAll('\\t', '\t'), header };
  return combined(lineShares(bytes, eachLine === '-' ? 'stdin' : eachLine, columns), param);
}

// ---- modules

function moduleCall(
  work: Extract<Work, { kind: 'module' }>,
  options: SubmitOptions,
  sources: Sources,
): ModulePayload {
  const folder = folderOf(options, sources);
  const { path, name } = splitModule(work.text, (file) => sources.exists(absoluteModule(file, folder)));
  return {
    module: absoluteModule(path, folder),
    ...present({ export: name }),
    ...(options.input === undefined ? {} : { input: parseInput(options.input) }),
  };
}

function callWith(call: ModulePayload, share: Share): ModulePayload {
  if (share.text !== undefined && 'problem' in share.text)
    throw noText(share, share.text.problem, 'be the input of a module');
  return { ...call, input: share.input };
}

function parseInput(text: string): unknown {
  return parseExactJson(text, {
    code: 'bad-input',
    name: '--input',
    hint: `quote strings: --input '"text"'`,
  });
}

// ---- commands

const ENV = { option: '--env', hint: 'for example THREADS=4' } as const;

async function commandLine(
  work: Extract<Work, { kind: 'command' }>,
  options: SubmitOptions,
  sources: Sources,
): Promise<ExecPayload> {
  const { shell, image, stdin, stdout, stderr } = options;
  const env = variables(options, sources);
  return {
    exec: [...work.argv],
    ...(shell ? { shell } : {}),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    cwd: folderOf(options, sources),
    ...(stdin === undefined ? {} : { stdin: await sources.read(stdin, '--stdin') }),
    ...present({ image, stdout, stderr }),
  };
}

/** Returns the variables of a command; `--env` overrides exported ones. */
function variables({ env, exportEnv }: SubmitOptions, { environment }: Sources): Record<string, string> {
  return {
    ...(exportEnv === undefined ? {} : exportedEnvironment(environment, exportEnv)),
    ...Object.fromEntries(pairsIn(env, ENV)),
  };
}

function commandWith(command: ExecPayload, share: Share): ExecPayload {
  const variable = variableOf(share);
  const { stdout, stderr } = command;
  return {
    ...command,
    exec: command.exec.map((argument) => filledIn(argument, share)),
    ...(variable === undefined ? {} : { env: { ...command.env, ...variable } }),
    ...present({
      stdin: share.stdin,
      stdout: stdout && filledIn(stdout, share, IN_PATH),
      stderr: stderr && filledIn(stderr, share, IN_PATH),
    }),
  };
}

function variableOf({ text, variable }: Share): Record<string, string> | undefined {
  if (text === undefined || variable === undefined || 'problem' in text) return undefined;
  const bytes = Buffer.byteLength(text.text) + variable.length + 2;
  return bytes > VARIABLE_BYTES_MAX ? undefined : { [variable]: text.text };
}

/** Rejects text of a file in shell code; numbers and values from the command line are safe. */
function checkShellLine(command: ExecPayload, { shell, eachLine, param }: SubmitOptions, share: Share): void {
  if (!shell || eachLine === undefined) return;
  const params = param.map((text) => text.split('=')[0]!.trim());
  if (!hasForeignPlaceholder(command.exec[0]!, share, params)) return;
  throw new InputError(
    'usage',
    '--each-line: in a shell command, {} would be interpreted as code',
    `write "$GOSHAWK_LINE" there, or pass the line as an argument: --shell -- 'echo "$1"' {}`,
  );
}

/** Maximum number of values and bytes in the tasks of a job, which leave room in a message to a scheduler. */
const VALUES_MAX = 850_000;
const BYTES_MAX = 15 * 1024 * 1024;

/** @throws InputError if the tasks do not fit into one message, judging by one of them */
function checkSize(count: number, task: ExecPayload | ModulePayload, options: SubmitOptions): void {
  const text = JSON.stringify(task, (_, value: unknown) =>
    value instanceof Uint8Array ? 'x'.repeat(value.length) : value,
  );
  const fits = Math.floor(Math.min(VALUES_MAX / valuesIn(task), BYTES_MAX / text.length));
  if (count <= fits) return;
  const source =
    options.array !== undefined ? '--array' : options.eachLine !== undefined ? '--each-line' : '--param';
  throw new InputError(
    'too-large',
    `${source}: ${formatCount(count)} tasks with individual arguments are too large for one job, which has room for about ${formatCount(fits)} of them`,
    'split them into several jobs, or submit --tasks N and let each task use $GOSHAWK_TASK',
  );
}

/** Counts values: lists, objects, their keys and their contents. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 1;
  if (Array.isArray(value)) return 1 + sumOf(value, valuesIn);
  return 1 + sumOf(Object.values(value), (each) => 1 + valuesIn(each));
}
