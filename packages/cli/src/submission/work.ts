import { flagOf, type Positionals } from '@goshawk/command';
import { InputError } from '@goshawk/core';
import type { JobOptions } from './options.js';

/** The work of a job, of exactly one kind. */
export type Work =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'sleep'; readonly ms: number }
  /** A module: `PATH#EXPORT`, or a path alone. */
  | { readonly kind: 'module'; readonly text: string };

const SOURCE_NAMES = {
  file: 'a job file',
  command: 'a command',
  sleep: '--sleep',
  module: '--module',
} as const;

/** Options that apply only to some kinds of work. */
const GOES_WITH = {
  tasks: ['command', 'sleep', 'module'],
  array: ['command', 'module'],
  eachLine: ['command', 'module'],
  colsep: ['command', 'module'],
  header: ['command', 'module'],
  param: ['command', 'module'],
  resume: ['command', 'module'],
  skipExisting: ['command', 'module'],
  returns: ['command'],
  shell: ['command'],
  env: ['command'],
  exportEnv: ['command'],
  cwd: ['command', 'module', 'file'],
  image: ['command'],
  stdin: ['command'],
  stdout: ['command'],
  stderr: ['command'],
  input: ['module'],
} as const satisfies Partial<Record<keyof JobOptions, readonly Work['kind'][]>>;

/** Options that are alternatives of each other. */
const EXCLUDE_EACH_OTHER = [
  ['tasks', 'array', 'eachLine'],
  ['eachLine', 'stdin'],
  ['array', 'input'],
  ['eachLine', 'input'],
  ['tasks', 'param'],
  ['param', 'input'],
  ['resume', 'key'],
] as const satisfies readonly (readonly (keyof JobOptions)[])[];

/**
 * Determines the work.
 *
 * @throws InputError if there is none or more than one, or an option does not apply
 */
export function chooseWork(options: JobOptions, { words, afterDashes }: Positionals<string>): Work {
  const found: Work[] = [];
  if (words.length > 0) found.push({ kind: 'file', path: oneFile(words) });
  if (afterDashes !== undefined) found.push({ kind: 'command', argv: someCommand(afterDashes) });
  if (options.sleep !== undefined) found.push({ kind: 'sleep', ms: options.sleep });
  if (options.module !== undefined) found.push(checkModule(options.module));
  const [work, other] = found;
  if (work === undefined) {
    throw new InputError(
      'usage',
      'submit: there is nothing to run',
      'pass a command after --, a job file, --sleep or --module',
    );
  }
  if (other !== undefined) {
    throw new InputError(
      'usage',
      `submit: ${SOURCE_NAMES[work.kind]} and ${SOURCE_NAMES[other.kind]} cannot be used together`,
      'use one of them',
    );
  }
  checkOptions(options, work.kind);
  return work;
}

function checkOptions(options: JobOptions, kind: Work['kind']): void {
  for (const [name, kinds] of Object.entries(GOES_WITH) as [keyof typeof GOES_WITH, readonly string[]][]) {
    if (!isGiven(options[name]) || kinds.includes(kind)) continue;
    const allowed = kinds.map((each) => SOURCE_NAMES[each as Work['kind']]).join(' or ');
    throw new InputError('usage', `submit: ${flagOf(name)} requires ${allowed}, not ${SOURCE_NAMES[kind]}`);
  }
  for (const group of EXCLUDE_EACH_OTHER) {
    const given = group.filter((name) => isGiven(options[name]));
    if (given.length < 2) continue;
    const [one, two] = given.map(flagOf);
    throw new InputError('usage', `submit: ${one} and ${two} cannot be used together`, 'use one of them');
  }
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
}

function oneFile(words: readonly string[]): string {
  const [path, second] = words;
  if (second !== undefined) {
    throw new InputError(
      'usage',
      `submit: "${second}" is not expected: a submission has one job file`,
      'to run a command, write it after --',
    );
  }
  return path!;
}

function someCommand(afterDashes: readonly string[]): readonly string[] {
  if (afterDashes.length === 0 || afterDashes[0] === '') {
    throw new InputError(
      'usage',
      'submit: there is no command after --',
      'for example: goshawk submit -- hostname',
    );
  }
  return afterDashes;
}

function checkModule(text: string): Work {
  if (text.startsWith('#') || text.endsWith('#'))
    throw new InputError('usage', `--module: "${text}" is not PATH#EXPORT`, 'for example ./work.js#run');
  return { kind: 'module', text };
}
