import {
  type Address,
  countTasks,
  InputError,
  isFinal,
  type JobSpec,
  type KeyHolder,
  LIMITS,
  type MessageOf,
  type Millis,
  type Payload,
  parseJobSpec,
  sumOf,
} from '@goshawk/core';
import { type Answers, refused } from '../clients/answers.js';
import type { SchedulerConfig } from '../contract.js';
import { type Job, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { Members } from '../joining/members.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger, Refusal } from '../keeping/ledger.js';
import { whatIsMissing, whyImpossible } from './admission.js';
import type { Intake } from './intake.js';
import type { Keys } from './keys.js';
import type { Overload } from './overload.js';
import { isSameJob } from './same-job.js';

/** Jobs that clients bring, or want tried again: taken, known by their keys, or refused. */
export class Submissions {
  readonly #config: SchedulerConfig;
  readonly #enlistment: Enlistment;
  readonly #members: Members;
  readonly #jobs: JobStore;
  readonly #ledger: Ledger;
  readonly #keys: Keys;
  readonly #overload: Overload;
  readonly #intake: Intake;
  readonly #answers: Answers;
  readonly #recent = new RecentSubmissions();

  constructor(
    config: SchedulerConfig,
    enlistment: Enlistment,
    members: Members,
    jobs: JobStore,
    ledger: Ledger,
    keys: Keys,
    overload: Overload,
    intake: Intake,
    answers: Answers,
  ) {
    this.#config = config;
    this.#enlistment = enlistment;
    this.#members = members;
    this.#jobs = jobs;
    this.#ledger = ledger;
    this.#keys = keys;
    this.#overload = overload;
    this.#intake = intake;
    this.#answers = answers;
  }

  /** @param owner the user in whose name alone the client may submit; undefined: in anybody's */
  submit(from: Address, message: MessageOf<'submit'>, owner: string | undefined, now: Millis): void {
    if (this.#isEarly(from, message.request)) return;
    if (message.key === '') return this.#answers.turnAway(from, message.request, NO_KEY);
    const known = this.#jobs.byKey(message.key);
    if (known === undefined && this.#isTraced(from, message)) return;
    if (known === undefined && this.#refusesNew(from, message.request, message.key)) return;
    if (known !== undefined && this.#recent.isAgain(from, message)) {
      return this.#accepted(from, message.request, known);
    }
    let spec: JobSpec;
    try {
      const given = parseJobSpec(message.spec);
      spec = owner === undefined ? given : { ...given, user: owner };
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return this.#answers.refuse(from, message.request, error.code, error.message, error.hint);
    }
    if (known !== undefined) return this.#known(from, message, known, spec);
    if (this.#refusesMore(from, message.request, spec)) return;
    const impossible = whyImpossible(spec, this.#enlistment.policy, this.#members);
    if (impossible !== undefined) {
      const { message: line, hint } = impossible;
      // Whoever asks again meanwhile finds the worker, or is refused for good.
      const retryMs = this.#enlistment.isRosterYoung(now) ? YOUNG_RETRY_MS : undefined;
      return this.#answers.refuse(from, message.request, 'impossible-demand', line, hint, retryMs);
    }
    this.#recent.took(from, message);
    this.#accepted(from, message.request, this.#intake.accept(spec, message.key, now));
  }

  /** The key was here before: with the same job it is the same job, with another one a mistake. */
  #known(from: Address, { request, key }: { request: number; key: string }, job: Job, spec: JobSpec): void {
    if (isSameJob(job.spec, spec)) return this.#accepted(from, request, job);
    const { code, message, hint } = keyConflict(key, job.id);
    this.#answers.refuse(from, request, code, message, hint);
  }

  /** The job with the key had to make room: that it was here is known. @returns whether it has answered */
  #isTraced(from: Address, { request, key }: { request: number; key: string }): boolean {
    const trace = this.#jobs.traceOf(key);
    if (trace === undefined) return false;
    this.#answers.acknowledge(from, request, 'accepted', {
      job: this.#jobs.idOf(trace.number),
      state: trace.state,
    });
    return true;
  }

  #accepted(from: Address, request: number, job: Job): void {
    const warning = whatIsMissing(job.spec, this.#enlistment.policy, this.#members);
    const accepted = { job: job.id, state: job.state };
    this.#answers.acknowledge(
      from,
      request,
      'accepted',
      warning === undefined ? accepted : { ...accepted, warning },
    );
  }

  /** A new job of the tasks that failed or were cancelled, with everything else as it was. */
  retry(from: Address, message: MessageOf<'retryJob'>, job: Job, now: Millis): void {
    if (this.#isEarly(from, message.request)) return;
    if (message.key === '') return this.#answers.turnAway(from, message.request, NO_KEY);
    const known = this.#jobs.byKey(message.key);
    if (known === undefined && this.#isTraced(from, message)) return;
    // A retry belongs to whoever has the job, whatever its key.
    if (known === undefined && this.#refusesNew(from, message.request, undefined)) return;
    if (!isFinal(job.state)) {
      return this.#answers.refuse(
        from,
        message.request,
        'not-ended',
        `${job.id} is still ${job.state}`,
        'wait for its end, or cancel it',
      );
    }
    const spec = failedPart(job);
    if (spec === undefined) {
      return this.#answers.refuse(from, message.request, 'nothing-failed', `no task of ${job.id} failed`, '');
    }
    if (known !== undefined) return this.#known(from, message, known, spec);
    if (this.#refusesMore(from, message.request, spec)) return;
    this.#accepted(from, message.request, this.#intake.accept(spec, message.key, now));
  }

  /** Whoever brought this job is told of the one that has its key. */
  keyTaken(job: Job, { id, accepted, ended }: KeyHolder): void {
    this.#ledger.reword(job.id, (request) => {
      if (accepted === undefined) return refused(request, KEY_FREED);
      if (isSameJob(accepted.spec, job.spec))
        return { type: 'accepted', request, value: { job: id, state: ended ?? 'running' } };
      const key = accepted.key ?? '';
      return refused(request, keyConflict(key, id));
    });
  }

  /** A job of an earlier incarnation may be asked about before there is a policy for new ones. @returns whether it has refused */
  #isEarly(to: Address, request: number): boolean {
    if (this.#enlistment.isReady) return false;
    this.#answers.turnAway(to, request, NOT_READY);
    return true;
  }

  /** @returns whether it has refused */
  #refusesNew(to: Address, request: number, key: string | undefined): boolean {
    const { isDraining } = this.#enlistment;
    const isAdopted = this.#config.adopted === true;
    const refusal =
      isDraining || (isAdopted && key !== undefined)
        ? DRAINING
        : (this.#refusalOf(key) ?? this.#overload.refusal());
    if (refusal !== undefined) this.#answers.turnAway(to, request, refusal);
    return refusal !== undefined;
  }

  /** One user may have so much, and a job that is tried again counts. @returns whether it has refused */
  #refusesMore(to: Address, request: number, { user, stages }: JobSpec): boolean {
    const tasks = sumOf(stages, (stage) => countTasks(stage.tasks));
    const refusal = this.#overload.refusalOf(user, tasks);
    if (refusal !== undefined) this.#answers.turnAway(to, request, refusal);
    return refusal !== undefined;
  }

  /** Why no new job can be taken with this key now; undefined when it can. */
  #refusalOf(key: string | undefined): Refusal | undefined {
    if (this.#ledger.refusal !== undefined) return this.#ledger.refusal;
    return key === undefined || this.#ledger.isShared ? undefined : this.#keys.refusal(key);
  }
}

function keyConflict(key: string, job: string): Refusal {
  return {
    code: 'key-conflict',
    message: `the key ${key} was given to another job before, which is ${job}`,
    hint: 'give another key for another job',
  };
}

/** The same job with only its tasks that did not complete; undefined when all did. */
function failedPart(job: Job): JobSpec | undefined {
  const kept = job.stages.map((stage) => {
    const each: Payload[] = [];
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (job.tasks.stateOf(task) !== TaskState.completed) each.push(job.dag.payloadOf(task));
    }
    return each;
  });
  const place = new Map<number, number>();
  kept.forEach((each, index) => {
    if (each.length > 0) place.set(index, place.size);
  });
  if (place.size === 0) return undefined;
  const stages = [...place.keys()].map((index) => {
    const { spec } = job.stages[index]!;
    const after = spec.after.flatMap((before) => place.get(before) ?? []);
    return { ...spec, after, tasks: { each: kept[index]! } };
  });
  // Who tries again knows what has become of the jobs before.
  const { after: _, afterOk: __, ...spec } = job.spec;
  return { ...spec, stages };
}

const YOUNG_RETRY_MS = 500;

const RETRY = 'try again in a moment';

const NOT_READY: Refusal = {
  code: 'not-ready',
  message: 'this scheduler has not joined its cluster yet',
  hint: RETRY,
};

const KEY_FREED: Refusal = {
  code: 'not-ready',
  message: 'the job that had this key was forgotten just now',
  hint: RETRY,
};

const NO_KEY: Refusal = {
  code: 'bad-key',
  message: '"" is no key: all jobs with it would be one job',
  hint: `a key is text of 1 to ${LIMITS.nameLengthMax} characters`,
};

const DRAINING: Refusal = {
  code: 'draining',
  message: 'this scheduler is shutting down',
  hint: 'submit to another one',
};

/** Submissions that are remembered: those that may still be on their way again. */
const REMEMBERED = 10_000;

/**
 * Submissions that were taken lately. One that comes again, since its answer is late, is known by its number and need not
 * be read: a job of many tasks takes long to read.
 */
class RecentSubmissions {
  /** Who asked, by key; the oldest first. */
  readonly #askers = new Map<string, { readonly client: Address; readonly request: number }>();

  took(client: Address, { key, request }: MessageOf<'submit'>): void {
    this.#askers.delete(key);
    if (this.#askers.size >= REMEMBERED) this.#askers.delete(this.#askers.keys().next().value!);
    this.#askers.set(key, { client, request });
  }

  /** Whether it is the very submission that was taken under this key. */
  isAgain(client: Address, { key, request }: MessageOf<'submit'>): boolean {
    const asker = this.#askers.get(key);
    return asker?.client === client && asker.request === request;
  }
}
