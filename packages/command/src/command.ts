import { InputError } from '@goshawk/core';
import type { Context } from './context.js';
import { type JobWord, jobWords } from './job-word.js';
import type { OptionSpec, OptionSpecs, Origin, Resolved } from './options.js';

/** Arguments after the command's name, and those after `--`. */
export interface Positionals<Word = string | JobWord> {
  readonly words: readonly Word[];
  /** Undefined when there is no `--`. */
  readonly afterDashes: readonly string[] | undefined;
}

/** `checked`: other processes run the custom modules that this one loads, so it ignores their handlers. `run`: this process does. */
export type ModuleUse = 'checked' | 'run';

export interface Command<S extends OptionSpecs = OptionSpecs> {
  readonly name: string;
  /** Usage of the words in help: `ID`, `[ID]` for an optional word, `ID…` for any number. `ID` is a job. */
  readonly words: string;
  /** Minimum number of words. */
  readonly wordsMin: number;
  readonly wordsMax: number;
  readonly describe: string;
  /** Kind of the words for completion; absent: files. */
  readonly completes?: Completed;
  /** Examples for help, each a complete command. */
  readonly examples: readonly (readonly [command: string, does: string])[];
  readonly options: S;
  /** Whether the command starts a cluster, joins one with another option, or needs none: it rejects `--cluster`. */
  readonly needsNoCluster?: boolean;
  /** Set if errors in timers and promises of custom modules must not end this process. */
  readonly modules?: ModuleUse;
  /**
   * @param origins origin of the value of each option, by name
   * @returns the exit code; undefined means `ExitCode.done`
   */
  run(
    context: Context,
    options: Resolved<S>,
    positionals: Positionals,
    origins: Readonly<Record<string, Origin>>,
  ): Promise<number | undefined>;
}

/** Kinds of values that `goshawk completion KIND` lists, one per line. */
export const COMPLETED = ['ids', 'workers', 'workloads', 'figures'] as const;
export type Completed = (typeof COMPLETED)[number];

/** Type of the words of a command. Those that name jobs are never plain text, which is no id. */
type WordIn<Words extends string> = Words extends `${'[' | ''}ID${'' | '…' | '[' | ']'}${string}`
  ? JobWord
  : string;

/**
 * Defines a command and infers the types of the options and words that `run` receives. Words are jobs
 * (`JobWord`) if `words` begins with ID.
 */
export function defineCommand<const S extends Record<string, OptionSpec>, const Words extends string = ''>(
  command: Partial<Pick<Command<S>, 'examples' | 'completes' | 'needsNoCluster' | 'modules'>> &
    Pick<Command<S>, 'name' | 'describe' | 'options'> & {
      readonly words?: Words;
      run(
        context: Context,
        options: Resolved<S>,
        positionals: Positionals<WordIn<Words>>,
        origins: Readonly<Record<string, Origin>>,
      ): Promise<number | undefined>;
    },
): Command<S> {
  const { words = '' } = command;
  const takesNone = words === '' || /^\[?--/.test(words);
  const takesMany = /\w…\]?$/.test(words);
  return {
    examples: [],
    ...(takesJobs(words) ? { completes: 'ids' } : {}),
    ...(command as Omit<Command<S>, 'examples' | 'wordsMin' | 'wordsMax'>),
    words,
    wordsMin:
      takesNone || words.startsWith('[')
        ? 0
        : words.split(' ').filter((word) => !word.startsWith('[')).length,
    wordsMax: takesNone ? 0 : takesMany ? Number.POSITIVE_INFINITY : words.split(' ').length,
  };
}

function takesJobs(words: string): boolean {
  return /^\[?ID\b/.test(words);
}

/** Returns the words of a command line as the command receives them. */
export function wordsFor(
  { words: usage }: Pick<Command, 'words'>,
  words: readonly string[],
): Positionals['words'] {
  return takesJobs(usage) ? jobWords(words) : words;
}

/** @throws InputError if a command has more words than this */
export function refuseSurplusWords(name: string, words: readonly string[], wordsMax: number): void {
  if (words.length <= wordsMax) return;
  throw new InputError(
    'usage',
    `${name}: "${words[wordsMax]}" is not expected`,
    `see \`goshawk ${name} --help\``,
  );
}

/** Returns the JSON metadata of a complete list. */
export function wholeList(entries: readonly unknown[]) {
  return { total: entries.length, truncated: false, next: null } as const;
}

/** Option of commands that truncate lists with `--limit`. */
export const FROM = {
  type: 'count',
  setting: false,
  default: 0,
  describe: 'skip this many entries, to continue a truncated list',
} as const;

/** Returns a page of a list and its JSON metadata. */
export function pageOf<T>(all: readonly T[], { from, limit }: { from: number; limit: number }) {
  const shown = all.slice(from, from + limit);
  const left = Math.max(0, all.length - from - shown.length);
  return { shown, left, total: all.length, truncated: left > 0, next: left > 0 ? from + shown.length : null };
}

export const ExitCode = {
  done: 0,
  /** The work failed, such as a task of a job or a comparison that exceeded its bound. */
  failed: 1,
  usage: 2,
  unreachable: 3,
  /** The work completed, but not by its deadline. */
  deadlineMissed: 4,
  waitTimedOut: 124,
  /** After SIGINT; 143 after SIGTERM. */
  interrupted: 130,
} as const;
