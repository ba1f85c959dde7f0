import type { JobSubmission } from '@goshawk/client';
import {
  InputError,
  type JobInput,
  PRIORITIES,
  type Priority,
  parseBytes,
  parseJobSpec,
} from '@goshawk/core';
import type { Positionals } from '../command.js';
import { absoluteJob, folderOf } from './folders.js';
import { readJobFile } from './job-file.js';
import { nameOf } from './name.js';
import type { SubmitOptions } from './options.js';
import { buildTasks, type Sources } from './tasks.js';
import { chooseWork } from './work.js';

/**
 * The job that a command line of `submit` asks for. Whatever can be known to be wrong without the cluster is
 * found here.
 *
 * @throws InputError with one line that names the option, or the file and the field
 */
export async function buildJob(
  options: SubmitOptions,
  positionals: Positionals,
  sources: Sources,
): Promise<JobSubmission> {
  const work = chooseWork(options, positionals);
  if (work.kind === 'file') {
    const job = absoluteJob(await readJobFile(work.path, sources), folderOf(options, sources));
    return { name: nameOf(work), ...job, ...wholeJob(options, job.demand) };
  }
  const tasks = await buildTasks(work, options, sources);
  const job = { name: nameOf(work), tasks, ...wholeJob(options, undefined) };
  const { key: _, ...spec } = job;
  parseJobSpec(spec, 'submit');
  return job;
}

function wholeJob(options: SubmitOptions, demand: JobInput['demand']): Omit<JobSubmission, 'tasks'> {
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
  } = options;
  const wanted = { ...demand, ...demandOf(options) };
  return {
    ...(name === undefined ? {} : { name }),
    ...(user === undefined ? {} : { user }),
    ...(estimate === undefined ? {} : { estimate }),
    ...(key === undefined ? {} : { key }),
    ...(retries === undefined ? {} : { retries }),
    ...(retryBackoff === undefined ? {} : { retryBackoff }),
    ...(retryOn === undefined ? {} : { retryOn: parseExitCodes(retryOn) }),
    ...(taskTimeout === undefined ? {} : { timeout: taskTimeout }),
    ...(timeLimit === undefined ? {} : { timeLimit }),
    ...(Object.keys(wanted).length === 0 ? {} : { demand: wanted }),
    ...(priority === undefined ? {} : { priority: parsePriority(priority) }),
    ...(maxRunning === undefined ? {} : { maxRunning }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(value === undefined ? {} : { value }),
    ...(prefer.length === 0 ? {} : { prefer: Object.fromEntries(prefer.map(parsePreference)) }),
  };
}

function demandOf({ cpus, memory, resource }: SubmitOptions): Record<string, number> {
  return {
    ...(cpus === undefined ? {} : { cpu: cpus }),
    ...(memory === undefined ? {} : { memory: parseBytes(memory, '--memory') }),
    ...Object.fromEntries(resource.map(parseResource)),
  };
}

function parseResource(text: string): [name: string, amount: number] {
  const equals = text.indexOf('=');
  if (equals <= 0) {
    throw new InputError('bad-option', `--resource: "${text}" is not NAME=AMOUNT`, 'such as gpu=1');
  }
  return [text.slice(0, equals), parseBytes(text.slice(equals + 1), '--resource')];
}

function parseExitCodes(text: string): number[] {
  const codes = text.split(',').map((code) => code.trim());
  if (codes.every((code) => /^\d{1,3}$/.test(code))) return codes.map(Number);
  throw new InputError('bad-option', `--retry-on: "${text}" is not a list of exit codes`, 'such as 75,137');
}

function parsePriority(text: string): Priority {
  const found = PRIORITIES.find((priority) => priority === text);
  if (found !== undefined) return found;
  throw new InputError('bad-option', `--priority: "${text}" is not one of ${PRIORITIES.join(', ')}`);
}

function parsePreference(text: string): [name: string, values: string[]] {
  const equals = text.indexOf('=');
  const values = text.slice(equals + 1).split(',');
  if (equals > 0 && values.every((value) => value !== '')) return [text.slice(0, equals), values];
  throw new InputError('bad-option', `--prefer: "${text}" is not NAME=VALUE`, 'such as rack=r1,r2');
}
