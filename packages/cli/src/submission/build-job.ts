import type { JobSubmission } from '@goshawk/client';
import { type Positionals, valueListsIn } from '@goshawk/command';
import { amountsIn } from '@goshawk/command/cluster';
import {
  beginOf,
  decodeText,
  exitCodeOfSignal,
  GPU,
  InputError,
  type JobInput,
  parseBytes,
  parseExactJson,
  parseJobSpec,
  present,
  quoted,
  shellWord,
  spreadOver,
} from '@goshawk/core';
import { absoluteJob, folderOf } from './folders.js';
import { nameOf } from './name.js';
import type { JobOptions } from './options.js';
import { isPipeline, pipelineJob } from './pipeline.js';
import { buildTasks, type Sources } from './tasks.js';
import { chooseWork } from './work.js';

/**
 * Builds the job that a command line of `submit` requests, and finds all errors that can be detected without
 * the cluster. It has no tasks if `--skip-existing` skips all of them, and no stages if a pipeline is up to date.
 *
 * @param command named in errors
 * @throws InputError with one line that names the option, or the file and the field
 */
export async function buildJob(
  options: JobOptions,
  positionals: Positionals<string>,
  sources: Sources,
  command: 'submit' | 'plan' | 'run' = 'submit',
): Promise<JobSubmission> {
  try {
    return await submissionFrom(options, positionals, sources);
  } catch (error) {
    // The parts of a submission name `submit`; its options have the same meaning in other commands.
    if (!(error instanceof InputError && error.message.startsWith('submit: '))) throw error;
    throw new InputError(error.code, error.message.replace('submit', command), error.hint, { cause: error });
  }
}

async function submissionFrom(
  options: JobOptions,
  positionals: Positionals<string>,
  sources: Sources,
): Promise<JobSubmission> {
  const work = chooseWork(options, positionals);
  if (work.kind === 'file') {
    const folder = folderOf(options, sources);
    const job = absoluteJob(await readJobFile(work.path, folder, sources), folder);
    return { name: nameOf(work), ...job, ...wholeJob(options, job) };
  }
  const tasks = await buildTasks(work, options, sources);
  // `--skip-existing` may leave nothing to validate.
  if ('length' in tasks && tasks.length === 0) return { name: nameOf(work), tasks, ...wholeJob(options, {}) };
  const job = { name: nameOf(work), tasks, ...wholeJob(options, {}) };
  const { key: _, ...spec } = job;
  parseJobSpec(spec, 'submit', Date.now());
  return job;
}

/**
 * Reads a job file, in YAML if its name says so; `-` is stdin.
 *
 * @param folder for the files of a pipeline
 * @returns the validated content of the file
 * @throws InputError with the file and the field
 */
async function readJobFile(path: string, folder: string, sources: Sources): Promise<JobInput> {
  const name = path === '-' ? 'stdin' : path;
  const bytes = await sources.read(path, 'submit');
  if (isProgram(bytes))
    throw new InputError(
      'bad-job',
      `submit: ${name} is a program, not a job file`,
      `to run it, write: goshawk submit -- ${shellWord(path.includes('/') ? path : `./${path}`)}`,
    );
  const content = /\.ya?ml$/i.test(path) ? await parseYaml(bytes, name) : parseJson(bytes, name);
  const given = isPipeline(content) ? await pipelineJob(content, name, folder, sources) : content;
  const job = withTime(given, name) as JobInput;
  if (job.stages?.length !== 0 || !isPipeline(content)) parseJobSpec(job, name, Date.now());
  return job;
}

/** Whether a file is a script or a binary of Linux or macOS. */
function isProgram(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  return start.startsWith('#!') || start === '\x7fELF' || start === '\xcf\xfa\xed\xfe';
}

/** Converts a local begin time to an absolute one, because schedulers may be in other time zones. */
function withTime(job: unknown, source: string): unknown {
  const { begin } = (job ?? {}) as { readonly begin?: unknown };
  if (typeof begin !== 'string') return job;
  return { ...(job as object), begin: beginOf(begin, `${source}: begin`, Date.now()) };
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  const text = decodeText(bytes, name);
  const hint = 'a job file looks like {"tasks": {"count": 10, "run": {"sleep": 100}}}';
  return parseExactJson(text, { code: 'bad-job', name, hint });
}

/** @throws InputError with the line */
async function parseYaml(bytes: Uint8Array, name: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return exactNumbers(parse(decodeText(bytes, name), { intAsBigInt: true }), name);
  } catch (error) {
    if (error instanceof InputError) throw error;
    const [problem] = (error as Error).message.split('\n');
    throw new InputError('bad-job', `${name}: ${problem!.replace(/:$/, '')}`, '', { cause: error });
  }
}

/** @throws InputError for an integer that would lose digits */
function exactNumbers(value: unknown, name: string): unknown {
  if (typeof value === 'bigint') {
    if (Number.isSafeInteger(Number(value))) return Number(value);
    throw new InputError('bad-job', `${name}: ${value} would lose digits`, 'write it in quotes');
  }
  if (Array.isArray(value)) return value.map((each) => exactNumbers(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, exactNumbers(each, name)]));
}

/** @param file content of the job file, which options override name by name */
function wholeJob(
  options: JobOptions,
  file: Pick<JobInput, 'demand' | 'require'>,
): Omit<JobSubmission, 'tasks'> {
  const {
    name,
    user,
    estimate,
    key,
    retries,
    retryBackoff,
    retryOn,
    taskTimeout,
    timeLimit,
    priority,
    maxRunning,
    deadline,
    value,
    prefer,
    hold,
    begin,
    gang,
    preemptible,
    lend,
    notify,
  } = options;
  const wanted = { ...file.demand, ...demandOf(options) };
  const required = {
    ...file.require,
    ...attributesIn(options.require, '--require', 'zone=eu,us'),
    ...spreadIn(options),
  };
  return {
    ...present({ name, user, estimate, key, retries, retryBackoff }),
    ...(retryOn === undefined ? {} : { retryOn: parseExitCodes(retryOn) }),
    ...present({ timeout: taskTimeout, timeLimit }),
    ...(Object.keys(wanted).length === 0 ? {} : { demand: wanted }),
    ...(hold ? { hold } : {}),
    ...(begin === undefined ? {} : { begin: localBegin(begin) }),
    ...present({ priority, maxRunning, deadline, value, notify }),
    ...(gang ? { gang } : {}),
    ...(preemptible ? { preemptible } : {}),
    ...(lend === false ? { lend } : {}),
    ...(Object.keys(required).length === 0 ? {} : { require: required }),
    ...(prefer.length === 0 ? {} : { prefer: attributesIn(prefer, '--prefer', 'rack=r1,r2') }),
  };
}

/** @throws InputError if the time lacks its zone and the zone of this process is unknown */
function localBegin(text: string): string {
  const begin = beginOf(text, '--begin', Date.now());
  const { TZ = '' } = process.env;
  if (begin !== text.trim() && TZ !== '' && !isZone(TZ.replace(/^:/, '')))
    throw new InputError(
      'bad-time',
      `--begin: the time zone TZ=${quoted(TZ)} is unknown here`,
      'set TZ to a name such as Europe/Berlin, or write a time with its zone, such as 2026-11-25T22:00:00+01:00',
    );
  return begin;
}

/** Whether JavaScript knows the time zone. It uses UTC for unknown ones, such as a file or a POSIX rule. */
function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function demandOf({ cpus, memory, gpus, resource }: JobOptions): Record<string, number> {
  return {
    ...present({ cpu: cpus, [GPU]: gpus }),
    ...(memory === undefined ? {} : { memory: parseBytes(memory, '--memory') }),
    ...amountsIn(resource, { option: '--resource', hint: 'for example license=1' }),
  };
}

function parseExitCodes(text: string): number[] {
  return text.split(',').map((given) => {
    const code = given.trim();
    const signal = code.toUpperCase().replace(/^(?!SIG)/, 'SIG');
    const parsed = /^\d{1,3}$/.test(code) ? Number(code) : exitCodeOfSignal(signal);
    if (parsed !== undefined && parsed >= 1 && parsed <= 255) return parsed;
    throw new InputError(
      'bad-option',
      `--retry-on: "${code}" is neither an exit code nor a signal`,
      'for example 75,137 or SIGXCPU',
    );
  });
}

/** The requirements that `--spread` stands for. */
function spreadIn({ spread, require }: JobOptions): Record<string, string[]> {
  const given = attributesIn(require, '--require', 'zone=eu,us');
  return Object.fromEntries(
    spread.map((text) => {
      const [name = '', most = '1'] = text.split('=');
      if (name === '' || !/^[1-9]\d{0,5}$/.test(most))
        throw new InputError(
          'usage',
          `--spread ${text}: expected NAME or NAME=N`,
          'for example rack or rack=2',
        );
      if (Object.hasOwn(given, name))
        throw new InputError('usage', `--spread ${text} and --require ${name} exclude each other`);
      return [name, [spreadOver(Number(most))]];
    }),
  );
}

/** @param example example of an attribute with two alternative values, for errors */
function attributesIn(
  texts: readonly string[],
  option: '--require' | '--prefer',
  example: string,
): Record<string, string[]> {
  return Object.fromEntries(valueListsIn(texts, { option, hint: `for example ${example}` }));
}
