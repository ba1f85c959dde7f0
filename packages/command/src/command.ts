import type { Context } from './context.js';
import type { OptionSpec, OptionSpecs, Origin, Resolved } from './options.js';

/** Words after the command's name, and those after `--`. */
export interface Positionals {
  readonly words: readonly string[];
  /** Undefined when there is no `--`. */
  readonly afterDashes: readonly string[] | undefined;
}

export interface Command<S extends OptionSpecs = OptionSpecs> {
  readonly name: string;
  /** How its words are written, for help: `ID`, `[ID]` where it may be left out, `ID…` for any number. */
  readonly words: string;
  /** Minimum number of words. */
  readonly wordsMin: number;
  readonly wordsMax: number;
  readonly describe: string;
  /** Kind of its words for completion; absent: files. */
  readonly completes?: Completed;
  /** Lines for help, each a command that works. */
  readonly examples: readonly (readonly [command: string, does: string])[];
  readonly options: S;
  /** It starts one, or needs none: `--cluster` says nothing to it. */
  readonly needsNoCluster?: boolean;
  /**
   * @param origins where each of its options comes from, by name
   * @returns the exit code; nothing where all is done
   */
  run(
    context: Context,
    options: Resolved<S>,
    positionals: Positionals,
    origins: Readonly<Record<string, Origin>>,
  ): Promise<number | undefined>;
}

/** `goshawk completion KIND` lists them, one a line. */
export const COMPLETED = ['ids', 'workers', 'workloads', 'figures'] as const;
export type Completed = (typeof COMPLETED)[number];

/** Keeps the option types that `run` gets. */
export function defineCommand<const S extends Record<string, OptionSpec>>(
  command: Partial<Pick<Command<S>, 'words' | 'examples' | 'completes' | 'needsNoCluster'>> &
    Pick<Command<S>, 'name' | 'describe' | 'options' | 'run'>,
): Command<S> {
  const { words = '' } = command;
  const takesNone = words === '' || /^\[?--/.test(words);
  const takesMany = /\w…\]?$/.test(words);
  return {
    examples: [],
    ...command,
    words,
    wordsMin: takesNone || words.startsWith('[') ? 0 : 1,
    wordsMax: takesNone ? 0 : takesMany ? Number.POSITIVE_INFINITY : words.split(' ').length,
  };
}

/** JSON metadata of a complete list. */
export function wholeList(entries: readonly unknown[]) {
  return { total: entries.length, truncated: false, next: null };
}

/** Option of commands that truncate lists with `--limit`. */
export const FROM = {
  type: 'count',
  flagOnly: true,
  default: 0,
  describe: 'skip this many entries, to continue a truncated list',
} as const;

/** So many entries of a list, and what JSON says of the rest. */
export function partOf<T>(all: readonly T[], { from, limit }: { from: number; limit: number }) {
  const shown = all.slice(from, from + limit);
  const left = Math.max(0, all.length - from - shown.length);
  return { shown, left, total: all.length, truncated: left > 0, next: left > 0 ? from + shown.length : null };
}

export const ExitCode = {
  done: 0,
  /** The work failed: a task of a job, a comparison that missed its bound. */
  failed: 1,
  usage: 2,
  unreachable: 3,
  /** The work completed, but not by its deadline. */
  deadlineMissed: 4,
  waitTimedOut: 124,
  interrupted: 130,
} as const;
