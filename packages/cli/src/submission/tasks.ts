import { resolve } from 'node:path';
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
import type { JobOptions } from './options.js';
import { paramAxes } from './params.js';
import {
  checkPlaceholders,
  filledIn,
  hasForeignPlaceholder,
  IN_PATH,
  noText,
  type Template,
} from './placeholders.js';
import { arrayShares, combined, lineShares, type ParamAxis, type Share } from './shares.js';
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
  /** Returns when a file was last modified, undefined if it does not exist here; workers may have other files. */
  modifiedMs(path: string): number | undefined;
  /** Prints why stages of a pipeline run or are left out. */
  note?(line: string): void;
  /** Receives the number of tasks that `--skip-existing` skips. */
  skipped?(tasks: number): void;
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
 * Builds the tasks that the options request; none if `--skip-existing` skips all of them.
 *
 * @throws InputError if a file or value that they need is missing
 */
export async function buildTasks(work: TaskWork, options: JobOptions, sources: Sources): Promise<Tasks> {
  const count = options.tasks ?? 1;
  if (work.kind === 'sleep') return { count, run: { sleep: work.ms } };
  const axes = await paramAxes(options.param, (path, what) => sources.read(path, what));
  const all = await sharesOf(options, sources, axes);
  if (all === undefined && (options.resume || options.skipExisting !== undefined))
    throw new InputError(
      'usage',
      `submit: ${options.resume ? '--resume' : '--skip-existing'} needs --param, --array or --each-line`,
      'tasks are recognized by their values',
    );
  if (work.kind === 'module') {
    const call = moduleCall(work, options, sources);
    if (all === undefined) return { count, run: call };
    checkPlaceholders(skipTemplates(options), all[0]!, []);
    checkSize(all.length, callWith(call, all[0]!), options);
    return withoutExisting(all, options, sources).map((share) => callWith(call, share));
  }
  const command = await commandLine(work, options, sources);
  if (all === undefined) return { count, run: command };
  checkPlaceholders([...templatesOf(command, options), ...skipTemplates(options)], all[0]!, axes);
  checkShellLine(command, options, all[0]!);
  checkSize(all.length, commandWith(command, all[0]!, options), options);
  return withoutExisting(all, options, sources).map((share) => commandWith(command, share, options));
}

async function sharesOf(
  options: JobOptions,
  sources: Sources,
  axes: readonly ParamAxis[],
): Promise<Share[] | undefined> {
  const { array, eachLine, colsep, header } = options;
  if (eachLine === undefined && (colsep !== undefined || header)) {
    throw new InputError('usage', `submit: ${header ? '--header' : '--colsep'} needs --each-line`);
  }
  if (array !== undefined) return combined(arrayShares(array), axes);
  if (eachLine === undefined) return combined(undefined, axes);
  const bytes = await sources.read(eachLine, '--each-line');
  const columns = { colsep: colsep?.replaceAll('\\t', '\t'), header };
  return combined(lineShares(bytes, eachLine === '-' ? 'stdin' : eachLine, columns), axes);
}

/** Leaves out tasks whose file of `--skip-existing` exists. */
function withoutExisting(shares: readonly Share[], options: JobOptions, sources: Sources): readonly Share[] {
  const { skipExisting: template } = options;
  if (template === undefined) return shares;
  checkNumbered(options);
  const folder = folderOf(options, sources);
  if (filledIn(template, shares[0]!, IN_PATH) === template)
    throw new InputError(
      'usage',
      `--skip-existing: ${template} is the same file for all tasks`,
      'write {} or {NAME} where the value of a task belongs: out/{}.txt',
    );
  const left = shares.filter(
    (share) => sources.modifiedMs(resolve(folder, filledIn(template, share, IN_PATH))) === undefined,
  );
  sources.skipped?.(shares.length - left.length);
  return left;
}

/** @throws InputError if files of output are named by numbers that tasks of another submission have, too */
function checkNumbered({ stdout, stderr, resume, skipExisting }: JobOptions): void {
  const option = (['stdout', 'stderr'] as const).find((name) =>
    /^(?=.*\{index\})(?!.*\{(?!index\}|attempt\}))/.test({ stdout, stderr }[name] ?? ''),
  );
  if (option === undefined) return;
  const cause = resume ? '--resume' : skipExisting === undefined ? '' : '--skip-existing';
  if (cause === '') return;
  throw new InputError(
    'usage',
    `submit: --${option} names files by {index} only, and ${cause} numbers the remaining tasks from 0, so they would overwrite earlier files`,
    'name the files by the values of the tasks',
  );
}

function skipTemplates({ skipExisting: text }: JobOptions): Template[] {
  return text === undefined ? [] : [{ text, place: '--skip-existing' }];
}

// ---- modules

function moduleCall(
  work: Extract<Work, { kind: 'module' }>,
  options: JobOptions,
  sources: Sources,
): ModulePayload {
  const folder = folderOf(options, sources);
  const { path, name } = splitModule(
    work.text,
    (file) => sources.modifiedMs(absoluteModule(file, folder)) !== undefined,
  );
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
  options: JobOptions,
  sources: Sources,
): Promise<ExecPayload> {
  const { shell, image, stdin, stdout, stderr, returns } = options;
  if (options.resume) checkNumbered(options);
  const env = variables(options, sources);
  return {
    exec: [...work.argv],
    ...(shell ? { shell } : {}),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    cwd: folderOf(options, sources),
    ...(stdin === undefined ? {} : { stdin: await sources.read(stdin, '--stdin') }),
    ...present({ image, stdout, stderr }),
    ...(returns ? { returns } : {}),
  };
}

/** Returns the variables of a command; `--env` overrides exported ones. */
function variables({ env, exportEnv }: JobOptions, { environment }: Sources): Record<string, string> {
  return {
    ...(exportEnv === undefined ? {} : exportedEnvironment(environment, exportEnv)),
    ...Object.fromEntries(pairsIn(env, ENV)),
  };
}

/** Texts of a command that are filled in for each task. */
function templatesOf({ exec, image, stdout, stderr }: ExecPayload, { env, cwd }: JobOptions): Template[] {
  return [
    ...exec.map((text) => ({ text, place: 'the command' })),
    ...env.map((text) => ({ text, place: '--env' })),
    ...[cwd ?? []].flat().map((text) => ({ text, place: '--cwd' })),
    ...[image ?? []].flat().map((text) => ({ text, place: '--image' })),
    ...[stdout ?? []].flat().map((text) => ({ text, place: '--stdout', isPath: true })),
    ...[stderr ?? []].flat().map((text) => ({ text, place: '--stderr', isPath: true })),
  ];
}

function commandWith(command: ExecPayload, share: Share, options: JobOptions): ExecPayload {
  const variable = variableOf(share);
  const { stdout, stderr, image, cwd } = command;
  // Exported variables may contain any braces.
  const given = [...pairsIn(options.env, ENV)].map(([name, value]) => [name, filledIn(value, share)]);
  const env = { ...command.env, ...Object.fromEntries(given), ...variable };
  return {
    ...command,
    exec: command.exec.map((argument) => filledIn(argument, share)),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...present({
      image: image && filledIn(image, share),
      cwd: options.cwd === undefined ? cwd : filledIn(cwd!, share),
      stdin: share.stdin,
      stdout: stdout && filledIn(stdout, share, IN_PATH),
      stderr: stderr && filledIn(stderr, share, IN_PATH),
    }),
    ...(Object.keys(share.named).length === 0 ? {} : { params: share.named }),
  };
}

function variableOf({ text, variable }: Share): Record<string, string> | undefined {
  if (text === undefined || variable === undefined || 'problem' in text) return undefined;
  const bytes = Buffer.byteLength(text.text) + variable.length + 2;
  return bytes > VARIABLE_BYTES_MAX ? undefined : { [variable]: text.text };
}

/** Rejects text of a file in shell code; numbers and values from the command line are safe. */
function checkShellLine(command: ExecPayload, { shell, eachLine, param }: JobOptions, share: Share): void {
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
function checkSize(count: number, task: ExecPayload | ModulePayload, options: JobOptions): void {
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
