import {
  GoshawkError,
  givenParent,
  InputError,
  type JobInput,
  type JobState,
  type Millis,
  nameProblem,
  OutcomeUnknownError,
  PENDING_CODE,
  quoted,
  UnreachableError,
} from '@goshawk/core';
import { randomName } from '@goshawk/transport';
import { pause } from './abort.js';
import { NOT_RUNNING_CODE } from './errors.js';
import type { SubmitOptions } from './options.js';
import { prepareJob } from './prepare-job.js';
import type { KnownScheduler } from './roster.js';
import { type Session, someSchedulers } from './session.js';

/** A job as users write it; see the job model of `@goshawk/core`. */
export type JobSubmission = Omit<JobInput, 'after' | 'afterOk'> & {
  /** Jobs that must have ended, successfully or not, before it starts: handles or ids. */
  readonly after?: readonly (string | { readonly id: string })[] | undefined;
  /** Jobs that must have completed; if one fails or is cancelled, this one waits until a retry of it completes. */
  readonly afterOk?: readonly (string | { readonly id: string })[] | undefined;
  /**
   * Idempotency key: the same key is the same job, however often it is submitted. 1 to 256 characters. Default: a
   * random one.
   */
  readonly key?: string | undefined;
};

interface Accepted {
  readonly id: string;
  /** Time of the first attempt, by `performance.now()`. */
  readonly sentAtMs: Millis;
  readonly state: JobState;
  readonly warning: string | undefined;
}

/**
 * Submits a job to the scheduler that its key belongs to, and to the next one if that is shutting down or,
 * with a random key, has no room or no journal.
 *
 * @throws InputError for a job that is invalid or can never run, or for a key that another job has; UnreachableError
 */
export async function submit(
  session: Session,
  submission: JobSubmission,
  options: SubmitOptions,
): Promise<Accepted> {
  // JavaScript callers may pass anything; the scheduler validates the rest.
  if (typeof submission !== 'object' || submission === null)
    throw new InputError('bad-job', 'a job is an object', 'for example { tasks: [{ exec: ["hostname"] }] }');
  const { key, ...job } = submission;
  if (key !== undefined) checkKey(key);
  // A gateway passes the parent on, also if there is none.
  const parent = 'parent' in job ? {} : givenParent(process.env);
  const spec = prepareJob({ ...parent, ...job }, process.cwd(), session.user);
  return new Submission(session, spec, key, options).run();
}

/** The attempts to submit one job, until a scheduler accepts it. */
class Submission {
  readonly #session: Session;
  readonly #spec: JobInput;
  /** undefined: each attempt uses a random key. */
  readonly #givenKey: string | undefined;
  readonly #options: SubmitOptions;
  readonly #giveUpAt: Millis;
  /** Schedulers that accept no jobs at present. */
  readonly #unwilling = new Set<string>();
  /** Time of the first attempt. */
  #sentAtMs: Millis | undefined;
  #wasRefused = false;
  /** A scheduler that may have accepted the job in an earlier attempt, and not under the key of the last one. */
  #mayExistAt: string | undefined;

  constructor(session: Session, spec: JobInput, key: string | undefined, options: SubmitOptions) {
    this.#session = session;
    this.#spec = spec;
    this.#givenKey = key;
    this.#options = options;
    this.#giveUpAt = performance.now() + session.timings.requestTimeoutMs;
  }

  async run(): Promise<Accepted> {
    for (;;) {
      await someSchedulers(this.#session, this.#options).catch((error: unknown) => {
        throw error instanceof GoshawkError ? this.#final(error) : error;
      });
      const key = this.#givenKey ?? drawKey(this.#session, this.#unwilling);
      const choice = new Choice(this.#session, key, this.#unwilling);
      try {
        const { job: id, state, warning } = await this.#ask(key, choice);
        const sentAtMs = this.#sentAtMs ?? performance.now();
        const other = this.#givenKey === undefined ? this.#mayExistAt : undefined;
        return { id, state, warning: warnings(warning, other), sentAtMs };
      } catch (error) {
        if (!(error instanceof GoshawkError)) throw error;
        await this.#prepareRetry(error, choice);
      }
    }
  }

  async #ask(key: string, choice: Choice) {
    const { requests, roster } = this.#session;
    const answer = await requests.ask({
      what: 'to accept a job',
      build: (request) => {
        this.#sentAtMs ??= performance.now();
        return { type: 'submit', request, key, spec: this.#spec };
      },
      to: () => choice.current(),
      ...roster.upkeep,
      onRefused: (why) => {
        if (why.code === JOURNAL_AWAY_CODE && this.#hasOther(choice)) {
          this.#unwilling.add(choice.name);
          throw why;
        }
        if (!this.#wasRefused) this.#options.onRefused?.(why);
        this.#wasRefused = true;
      },
      signal: this.#options.signal,
    });
    return answer.value;
  }

  /** Whether another scheduler, with its own connection to its journal, may accept the job under another key. */
  #hasOther({ name }: Choice): boolean {
    if (this.#givenKey !== undefined) return false;
    const others = this.#session.roster.schedulers.filter((each) => !each.adopted && each.name !== name);
    return others.some((each) => !this.#unwilling.has(each.name));
  }

  /** Returns once another attempt makes sense. @throws the error, or a better one, if none does */
  async #prepareRetry(error: GoshawkError, choice: Choice): Promise<void> {
    const { roster, timings } = this.#session;
    const { signal } = this.#options;
    if (error instanceof OutcomeUnknownError || choice.left !== undefined)
      this.#mayExistAt ??= choice.left ?? choice.title;
    // A scheduler that refuses the given key has not accepted the job before. One that is away has refused nothing.
    else if (this.#givenKey !== undefined && choice.title === this.#mayExistAt && !choice.isAway)
      this.#mayExistAt = undefined;
    // A given key stays with its scheduler; otherwise it could create a second job there later.
    const isElsewhere =
      this.#unwilling.has(choice.name) || (this.#givenKey === undefined && ELSEWHERE_CODES.has(error.code));
    if (error.code === 'draining' || isElsewhere) {
      this.#unwilling.add(choice.name);
      roster.refreshSoon();
      if (roster.schedulers.every(({ name }) => this.#unwilling.has(name)))
        throw this.#final(error.code === 'draining' ? allDraining(error) : error, choice.title);
    } else if (OTHER_SCHEDULER_CODES.has(error.code) && performance.now() < this.#giveUpAt) {
      // The lists of schedulers of client and scheduler differ.
      await pause(Math.min(timings.retryMs, OTHER_SCHEDULER_PAUSE_MS), signal);
      await roster.refresh(signal).catch(() => signal?.throwIfAborted());
    } else {
      throw this.#final(error, choice.title);
    }
  }

  /**
   * Returns the error for the caller: no refusal hides that an earlier attempt may have created the job.
   *
   * @param title the scheduler that was asked last; default: none
   */
  #final(error: GoshawkError, title = ''): GoshawkError {
    return this.#mayExistAt === undefined
      ? error
      : mayBeAccepted(error, this.#givenKey, this.#mayExistAt === title ? undefined : this.#mayExistAt);
  }
}

/** @throws InputError for a key that is not a valid name */
export function checkKey(key: string): void {
  const problem = typeof key === 'string' ? nameProblem(key, 'a key') : 'it is not a string';
  if (problem === undefined) return;
  const what =
    typeof key === 'string' ? quoted(key) : key === null ? 'null' : `a value of type ${typeof key}`;
  throw new InputError('bad-key', `${what} is not a valid key`, problem);
}

/** Another scheduler may accept the job under another key. */
const ELSEWHERE_CODES: ReadonlySet<string> = new Set(['journal-full', NOT_RUNNING_CODE]);
/** The scheduler asks to retry; meanwhile, others may accept the job under another key. */
const JOURNAL_AWAY_CODE = 'journal-unavailable';
/** The key belongs to another scheduler, or this one cannot take it now. */
const OTHER_SCHEDULER_CODES: ReadonlySet<string> = new Set(['other-scheduler', 'owner-away']);
const OTHER_SCHEDULER_PAUSE_MS = 50;
const DRAWS_MAX = 1_000;

/** Draws a key of an available scheduler, so that no job waits because its random key belongs to an absent one. */
function drawKey({ roster }: Session, unwilling: ReadonlySet<string>): string {
  for (let draws = 1; ; draws++) {
    const key = randomName();
    const owner = roster.forKey(key);
    const isThere = owner !== undefined && !roster.isAway(owner) && !unwilling.has(owner.name);
    if (isThere || draws >= DRAWS_MAX) return key;
  }
}

/**
 * The scheduler of one submission. It stays the same while central lists it, even if a new scheduler joins that the
 * key would belong to: it may have accepted the job already, with its reply lost or late.
 */
class Choice {
  readonly #session: Session;
  readonly #key: string;
  readonly #excluded: ReadonlySet<string>;
  #chosen: KnownScheduler | undefined;
  /** Whether no request was sent, because the scheduler is unavailable. */
  isAway = false;
  /** The scheduler that was chosen before, until central no longer listed it. */
  left: string | undefined;

  constructor(session: Session, key: string, excluded: ReadonlySet<string>) {
    this.#session = session;
    this.#key = key;
    this.#excluded = excluded;
  }

  get name(): string {
    return this.#chosen?.name ?? '';
  }

  get title(): string {
    return this.#chosen?.title ?? '';
  }

  /** @throws UnreachableError `owner-away` while it is known to be unavailable */
  current(): KnownScheduler | undefined {
    const { roster } = this.#session;
    const isListed = roster.schedulers.some(({ party }) => party === this.#chosen?.party);
    if (!isListed) {
      const next = roster.forKey(this.#key, this.#excluded) ?? this.#chosen;
      if (next?.name !== this.#chosen?.name) this.left ??= this.#chosen?.title;
      this.#chosen = next;
    }
    this.isAway = this.#chosen !== undefined && roster.isAway(this.#chosen);
    if (this.isAway) throw ownerAway(this.#key, this.#chosen!);
    return this.#chosen;
  }
}

function warnings(warning: string | undefined, mayExistAt: string | undefined): string | undefined {
  if (mayExistAt === undefined) return warning;
  const other = `${mayExistAt} was lost before it answered, and may run this job as well; --key prevents that`;
  return warning === undefined ? other : `${warning}; ${other}`;
}

/**
 * Error if a scheduler may have accepted the job.
 * @param elsewhere that scheduler, if another one refused the last attempt
 */
function mayBeAccepted(
  error: GoshawkError,
  key: string | undefined,
  elsewhere: string | undefined,
): OutcomeUnknownError {
  const { code } = error;
  const cause =
    error instanceof OutcomeUnknownError && error.cause instanceof GoshawkError ? error.cause : error;
  const what = code === PENDING_CODE ? '' : `; ${elsewhere ?? 'it'} may have accepted the job`;
  return new OutcomeUnknownError(
    code,
    `${cause.message}${what}`,
    key === undefined
      ? 'once it is back, `goshawk jobs` shows whether it did; with --key, submitting again does not create a second job'
      : 'submit it again with the same key once it is back: this does not create a second job',
    { cause },
  );
}

function ownerAway(key: string, owner: KnownScheduler): UnreachableError {
  return new UnreachableError(
    'owner-away',
    `the key ${key} belongs to ${owner.title}, which is down`,
    'try again once it is back',
  );
}

function allDraining(cause: GoshawkError): UnreachableError {
  return new UnreachableError(
    'draining',
    'all schedulers of the cluster are shutting down',
    'start one with `goshawk scheduler`, or try again later',
    { cause },
  );
}
