import {
  counted,
  formatCount,
  InputError,
  isFinal,
  type JobState,
  LIMITS,
  type Millis,
  parseTaskRanges,
  plain,
  type TaskRange,
  tasksInRanges,
  UnreachableError,
} from '@goshawk/core';

const EXAMPLES_SHOWN = 3;

/** A job among which a word chooses. */
interface ListedJob {
  readonly id: string;
  readonly name: string;
  readonly user?: string | undefined;
  readonly state: JobState;
  readonly submittedAt: Millis;
}

/** The jobs that a word may refer to. */
interface Listing {
  readonly jobs: readonly ListedJob[];
  /** Schedulers that did not answer. */
  readonly silent: readonly string[];
  readonly truncated: boolean;
}

/** The part of a cluster that the search for a job uses. */
interface JobSource<Handle> {
  readonly user: string | undefined;
  hasOwner(id: string): boolean;
  job(id: string): Handle;
  jobs(options: {
    readonly all: true;
    readonly limit: number;
    readonly user?: string | undefined;
    readonly signal: AbortSignal;
  }): Promise<Listing>;
}

/** Tasks that a word names: indices, which count across stages, or those of a stage. */
export interface NamedTasks {
  readonly tasks: readonly TaskRange[] | undefined;
  readonly stage: string | undefined;
}

/** The part of a command's context that the search for a job uses. */
interface JobWordContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly interrupted: AbortSignal;
  note(text: string): void;
}

/**
 * A word of the command line that names a job, and maybe tasks of it: `ID`, `ID/7-20,31`, `ID/STAGE` or `ID/STAGE/7-20`.
 * ID is an id, a prefix of one, `last` for the job that this user submitted last, or a name for the job of that
 * name that this user submitted last. A stage whose name looks like indices must be followed by indices: `ID/3/0-9`.
 *
 * Commands get this instead of a text, so that none can mistake the text for an id.
 */
export class JobWord {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The word, for messages. */
  get shown(): string {
    return plain(this.#text);
  }

  /**
   * The tasks that the word names; both undefined: the whole job.
   *
   * @throws InputError
   */
  get named(): NamedTasks {
    const { tasks, stage } = this.#parts;
    return { tasks, stage };
  }

  get #parts(): NamedTasks & { readonly id: string } {
    const word = this.#text;
    const slash = word.indexOf('/');
    if (slash < 0) return { id: word, tasks: undefined, stage: undefined };
    const [id, rest] = [word.slice(0, slash), word.slice(slash + 1)];
    if (id === '' || rest === '')
      throw new InputError(
        'usage',
        `"${word}" is not a job or task`,
        'write ID, ID/7-20, ID/STAGE or ID/STAGE/7-20',
      );
    if (ARE_TASKS.test(rest)) return { id, tasks: parseTaskRanges(rest), stage: undefined };
    const last = rest.lastIndexOf('/');
    const numbers = rest.slice(last + 1);
    if (last <= 0 || !ARE_TASKS.test(numbers)) return { id, tasks: undefined, stage: rest };
    return { id, tasks: parseTaskRanges(numbers), stage: rest.slice(0, last) };
  }

  /**
   * The index of the only task that the word names; undefined if it names a job.
   *
   * @throws InputError for several tasks
   */
  get oneTask(): number | undefined {
    const { tasks, stage } = this.#parts;
    if (tasks === undefined && stage === undefined) return undefined;
    if (tasks !== undefined && tasksInRanges(tasks) === 1) return tasks[0]!.first;
    throw new InputError(
      'usage',
      `"${this.#text}" is not one task`,
      'write ID, ID/TASK or ID/STAGE/TASK with the number of a task, such as a1-3/17',
    );
  }

  /**
   * Finds the job, of which the word may name tasks (`named`).
   *
   * @throws InputError `unknown-job`, or `ambiguous-job` with the matching ids; UnreachableError if a scheduler
   * that does not answer may own the job
   */
  async job<Handle>(context: JobWordContext, cluster: JobSource<Handle>): Promise<Handle> {
    const { id } = this.#parts;
    // The word looks like a complete id; the job's scheduler verifies that it exists. Names may look like ids, too.
    if (IS_ID.test(id) && cluster.hasOwner(id)) return cluster.job(id);
    const signal = context.interrupted;
    const user = id === 'last' ? ownUser(context, cluster.user) : undefined;
    const listing = await cluster.jobs({ all: true, limit: LIMITS.jobsListedMax, user, signal });
    return cluster.job(this.idAmong(listing, context, cluster.user));
  }

  /**
   * Finds the job of a word that may not name tasks.
   *
   * @throws as `job`, and InputError if it names tasks
   */
  async wholeJob<Handle>(context: JobWordContext, cluster: JobSource<Handle>): Promise<Handle> {
    this.#refuseTasks();
    return await this.job(context, cluster);
  }

  /** Returns the id, if the word is a complete one, which a job of a cluster that has ended may have. */
  get completeId(): string | undefined {
    this.#refuseTasks();
    return IS_ID.test(this.#text) ? this.#text : undefined;
  }

  #refuseTasks(): void {
    const { tasks, stage } = this.#parts;
    if (tasks !== undefined || stage !== undefined)
      throw new InputError(
        'usage',
        `"${this.#text}" names tasks, not a job`,
        'write ID; `goshawk tasks`, `results`, `logs`, `why`, `cancel` and `retry` accept tasks',
      );
  }

  /**
   * Returns the id of the job among those of a list.
   *
   * @param systemUser the user of this process
   * @throws as `job`
   */
  idAmong(listing: Listing, context: JobWordContext, systemUser: string | undefined): string {
    const { id: word } = this.#parts;
    const { silent, truncated } = listing;
    const own = ownUser(context, systemUser);
    // Active jobs are listed first, from the oldest, so a truncated list may lack the last job.
    const isIncomplete = truncated && !isFinal(listing.jobs.at(-1)!.state);
    const missing = silent.length === 0 ? undefined : `no answer from ${silent.join(', ')}`;
    const mine = listing.jobs.filter(({ user }) => own === undefined || user === own);
    if (word === 'last') {
      if (mine.length === 0 && missing === undefined)
        throw new InputError('unknown-job', `no job${own ? ` of ${own}` : ''} is known`, LIST_HINT);
      return lastOf(mine, 'the last job', missing, isIncomplete);
    }
    const begun = word === '' ? [] : listing.jobs.filter(({ id }) => id.startsWith(word));
    const called = mine.filter(({ name }) => name === word);
    if (called.length > 0 && begun.length === 0) {
      const id = lastOf(called, `the last job named "${word}"`, missing, isIncomplete);
      if (called.length > 1)
        context.note(`${id} is the last of ${counted(called.length, 'job')} named "${plain(word)}"`);
      return id;
    }
    // Its scheduler may be missing: the request to it says so.
    if (IS_ID.test(word)) return word;
    if (begun.length === 0 && missing !== undefined)
      throw new UnreachableError('unreachable', `no known job is "${word}"; ${missing}`);
    if (begun.length === 0)
      throw new InputError('unknown-job', `no job has the name "${word}" or an id that begins so`, LIST_HINT);
    const found = new Set([...begun, ...called].map(({ id }) => id));
    if (found.size > 1) {
      const ids = [...found].slice(0, EXAMPLES_SHOWN);
      const more = found.size > ids.length ? ', …' : '';
      throw new InputError(
        'ambiguous-job',
        `${counted(found.size, 'job')} have ids that begin with "${word}"${called.length > 0 ? ' or that name' : ''}: ${ids.join(', ')}${more}`,
        'use a longer prefix',
      );
    }
    return begun[0]!.id;
  }
}

/** Returns the words as jobs; equal words are the same object. */
export function jobWords(words: readonly string[]): JobWord[] {
  const known = new Map(words.map((word) => [word, new JobWord(word)]));
  return words.map((word) => known.get(word)!);
}

const LIST_HINT = '`goshawk jobs --all` lists all jobs';
const ARE_TASKS = /^[\d,\s-]*\d[\d,\s-]*$/;
const IS_ID = /-\d+$/;

function ownUser({ environment }: JobWordContext, systemUser: string | undefined): string | undefined {
  return environment.GOSHAWK_USER || systemUser;
}

/**
 * Returns the job that was submitted last.
 *
 * @param missing schedulers that did not answer
 */
function lastOf(
  jobs: readonly ListedJob[],
  what: string,
  missing: string | undefined,
  isIncomplete: boolean,
): string {
  // A scheduler that does not answer may own the last job, and another job must not be cancelled in its place.
  if (missing !== undefined)
    throw new UnreachableError('unreachable', `cannot find ${what}: ${missing}`, 'use its id');
  if (isIncomplete)
    throw new InputError(
      'ambiguous-job',
      `cannot find ${what}: more than ${formatCount(LIMITS.jobsListedMax)} are active`,
      'use its id',
    );
  return jobs.reduce(later).id;
}

/**
 * Returns the job that was submitted later. Within a scheduler, the id's number orders jobs of the same
 * millisecond.
 */
function later(a: ListedJob, b: ListedJob): ListedJob {
  if (a.submittedAt !== b.submittedAt) return a.submittedAt > b.submittedAt ? a : b;
  return numberOf(a.id) > numberOf(b.id) ? a : b;
}

function numberOf(id: string): number {
  return Number(id.slice(id.lastIndexOf('-') + 1));
}
