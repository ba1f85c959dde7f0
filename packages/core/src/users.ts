import { InputError, quoted } from './errors.js';
import type { Millis } from './ids.js';
import { parseBytes } from './job/bytes.js';
import { LIMITS } from './limits.js';
import { parseDuration } from './text/durations.js';
import { nameProblem } from './text/utf8.js';

/** An operator's settings for a user, or for a project (all of its users together). */
export interface UserGrant {
  /**
   * A user with twice the weight gets twice the share. 0: the project has no weight, and its users keep their
   * own.
   */
  readonly weight: number;
  /** The project of the user, if any. */
  readonly project?: string;
  /** Limits over the whole cluster; absent: unlimited. */
  readonly limits?: UserLimits;
}

export interface UserLimits {
  /** Maximum number of running tasks, and their total cores, bytes and GPUs. */
  readonly running?: number;
  readonly cpus?: number;
  readonly memory?: number;
  readonly gpus?: number;
  /** Tasks of accepted jobs that have not started. */
  readonly waiting?: number;
  /** Bytes of the user's jobs in journals, including ended jobs that are still kept. */
  readonly journal?: number;
  /** Maximum run time (ms) of a task. */
  readonly runTime?: Millis;
  /** Whether schedulers may exceed the limits on running tasks while central is down. Default: tasks wait for it. */
  readonly lapse?: boolean;
}

/** Limits on running tasks, in the order of `amountsOf`. */
export const RUNNING_LIMITS = ['running', 'cpus', 'memory', 'gpus'] as const satisfies (keyof UserLimits)[];

type RunningLimits = { readonly [name in (typeof RUNNING_LIMITS)[number]]?: number | undefined };

/** Whether any limit on running tasks is set. */
export function limitsRunning<L extends RunningLimits>(limits: L | undefined): limits is L {
  return limits !== undefined && RUNNING_LIMITS.some((name) => limits[name] !== undefined);
}

/** Grants by holder: users, `@NAME` for projects, and `*` for every user who is not listed. */
export type UserGrants = ReadonlyMap<string, UserGrant>;

const OTHERS = '*';
const DEFAULT_GRANT: UserGrant = { weight: 1 };
const WEIGHT_MAX = 1e6;
/** Usage divided by a smaller weight could be infinite. */
const WEIGHT_MIN = 1 / WEIGHT_MAX;

/** The grant of a user: its own, the one for all others, or the default. */
export function grantOf(grants: UserGrants, user: string): UserGrant {
  return (user.startsWith(PROJECT) ? undefined : grants.get(user)) ?? grants.get(OTHERS) ?? DEFAULT_GRANT;
}

/** The grant of a project; undefined where the file does not list it. */
export function projectGrantOf(grants: UserGrants, project: string | undefined): UserGrant | undefined {
  return project === undefined ? undefined : grants.get(PROJECT + project);
}

const PROJECT = '@';

/**
 * Parses a `--users` file: a JSON object with an object of settings for each user.
 *
 * @param source for errors, which contain the line and column
 * @throws InputError
 */
export function parseUsers(text: string, source: string): UserGrants {
  const reader = new JsonReader(text, source);
  const grants = new Map<string, UserGrant>();
  reader.object('an object of users', (user, at) => {
    const who = quoted(user);
    const problem = nameProblem(user) ?? (user.startsWith(PROJECT) ? nameProblem(user.slice(1)) : undefined);
    if (problem !== undefined) reader.fail(at, `${who} is not the name of a user: ${problem}`);
    if (grants.has(user)) reader.fail(at, `user ${who} is listed twice`, 'remove one of them');
    if (grants.size === LIMITS.usersListedMax)
      reader.fail(
        at,
        `more than ${LIMITS.usersListedMax} users are listed`,
        'use "*" for users with equal settings',
      );
    grants.set(user, readGrant(reader, user));
  });
  reader.end();
  return grants;
}

const SETTINGS = [
  'weight',
  'project',
  'running',
  'waiting',
  'cpus',
  'memory',
  'gpus',
  'journal',
  'runTime',
  'lapse',
] as const;
type Setting = (typeof SETTINGS)[number];

function readGrant(reader: JsonReader, holder: string): UserGrant {
  const who = quoted(holder);
  const given = new Map<Setting, unknown>();
  reader.object(`an object of settings for ${who}`, (name, at) => {
    const setting = SETTINGS.find((each) => each === name);
    if (setting === undefined || (setting === 'project' && holder.startsWith(PROJECT)))
      reader.fail(
        at,
        `user ${who} has an unknown setting ${JSON.stringify(name)}`,
        `known settings: ${SETTINGS.join(', ')}`,
      );
    if (given.has(setting!)) reader.fail(at, `the ${name} of ${who} is given twice`, 'remove one of them');
    const scalar = reader.scalar();
    const value = settingOf(setting!, scalar.value);
    if (value === undefined) reader.fail(scalar.at, `the ${name} of ${who} is not ${EXPECTED[setting!]}`);
    given.set(setting!, value);
  });
  const {
    weight = holder.startsWith(PROJECT) ? 0 : 1,
    project,
    ...limits
  } = Object.fromEntries(given) as { weight?: number; project?: string };
  return {
    weight,
    ...(project === undefined ? {} : { project }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

const EXPECTED: Readonly<Record<Setting, string>> = {
  weight: `a number from ${WEIGHT_MIN} to ${WEIGHT_MAX}`,
  project: 'the name of a project',
  running: 'a whole number of tasks',
  waiting: 'a whole number of tasks',
  cpus: 'a number of CPUs',
  memory: 'an amount of memory, such as "64GiB"',
  gpus: 'a number of GPUs',
  journal: 'an amount of bytes, such as "1GiB"',
  runTime: 'a duration with its unit, such as "2h"',
  lapse: 'true or false',
};

/** @returns undefined if the value is invalid for the setting */
function settingOf(setting: Setting, value: unknown): number | string | boolean | undefined {
  switch (setting) {
    case 'weight':
      return typeof value === 'number' && value >= WEIGHT_MIN && value <= WEIGHT_MAX ? value : undefined;
    case 'project':
      return typeof value === 'string' &&
        nameProblem(value) === undefined &&
        value.length < LIMITS.nameLengthMax
        ? value
        : undefined;
    case 'running':
    case 'waiting':
      return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
    case 'cpus':
    case 'gpus':
      return isAmount(value) ? value : undefined;
    case 'memory':
    case 'journal':
      return typeof value === 'string' ? parsedOr(parseBytes, value) : isAmount(value) ? value : undefined;
    case 'runTime':
      return typeof value === 'string' ? parsedOr(parseDuration, value) : undefined;
    case 'lapse':
      return typeof value === 'boolean' ? value : undefined;
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LIMITS.amountMax;
}

function parsedOr(parse: (text: string, what: string) => number, text: string): number | undefined {
  try {
    return parse(text, '');
  } catch {
    return undefined;
  }
}

const EXAMPLE = 'for example {"ann": {"weight": 3}, "*": {"weight": 1}}';

/** A string, a punctuation mark, or anything between them. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+|"/g;

interface Token {
  readonly text: string;
  readonly at: number;
}

/** Parses JSON token by token, because `JSON.parse` does not report positions of values. */
class JsonReader {
  readonly #text: string;
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string, source: string) {
    this.#text = text;
    this.#source = source;
    this.#tokens = [...text.matchAll(TOKENS)].map((match) => ({ text: match[0], at: match.index! }));
  }

  fail(at: number, problem: string, remedy = EXAMPLE): never {
    const lines = this.#text.slice(0, at).split('\n');
    const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
    throw new InputError('bad-users', `${this.#source}: ${place}: ${problem}`, remedy);
  }

  /** @param each reads the value of this key */
  object(what: string, each: (key: string, at: number) => void): void {
    this.#take('{', what);
    if (this.#peek().text === '}') return void this.#next++;
    for (;;) {
      const { value: key, at } = this.scalar();
      if (typeof key !== 'string') this.fail(at, 'expected a name in double quotes');
      this.#take(':', 'a colon');
      each(key as string, at);
      const { text } = this.#peek();
      if (text === '}') return void this.#next++;
      this.#take(',', 'a comma or a closing brace');
    }
  }

  /** The next string or number. */
  scalar(): { readonly value: unknown; readonly at: number } {
    const { text, at } = this.#peek();
    this.#next++;
    try {
      return { value: JSON.parse(text), at };
    } catch {
      return this.fail(at, `expected a name in double quotes or a number, not ${this.#shown(text)}`);
    }
  }

  end(): void {
    const { text, at } = this.#peek();
    if (text !== '') this.fail(at, `nothing may follow the last brace, but ${this.#shown(text)} does`);
  }

  #take(mark: string, what: string): void {
    const { text, at } = this.#peek();
    if (text !== mark) this.fail(at, `expected ${what}, not ${this.#shown(text)}`);
    this.#next++;
  }

  /** Empty at the end. */
  #peek(): Token {
    return this.#tokens[this.#next] ?? { text: '', at: this.#text.length };
  }

  #shown(text: string): string {
    return text === '' ? 'the end of the file' : text.slice(0, 32);
  }
}
