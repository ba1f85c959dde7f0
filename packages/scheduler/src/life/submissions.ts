import {
  type Address,
  countTasks,
  formatTaskRanges,
  InputError,
  isFinal,
  type JobNumber,
  type JobSpec,
  type KeyHolder,
  LIMITS,
  type MessageOf,
  type Millis,
  mergedRanges,
  parseJobSpec,
  type RetryChoice,
  scopedKey,
  setLatest,
  sumOf,
  tasksInRanges,
} from '@goshawk/core';
import { whatIsMissing, whyImpossible } from '../cluster/admission.js';
import { refused } from '../durability/answers.js';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { Job } from '../job/job.js';
import { bytesOf } from '../job/job-bytes.js';
import { findReopening, type Reopening } from '../job/reopening.js';
import type { SchedulerParts } from '../parts.js';
import { accept, reopen } from './intake.js';
import { whyNotNotified } from './notify-hosts.js';
import { missingInputs, retrySpecOf } from './retry-spec.js';
import { isSameJob } from './same-job.js';

// Jobs that clients bring, or want tried again: taken, known by their keys, or refused.

type Accepted = MessageOf<'accepted'>['value'];

/** @param owner the user in whose name alone the client may submit; undefined: in anybody's */
export function submit(
  s: SchedulerParts,
  from: Address,
  message: MessageOf<'submit'>,
  owner: string | undefined,
  now: Millis,
): void {
  reply(s, from, message.request, submitted(s, from, message, owner, now));
}

/** Runs tasks of an ended job again: as further attempts of the same job, or as a new job that keeps their numbers. */
export function retry(
  s: SchedulerParts,
  from: Address,
  message: MessageOf<'retryJob'>,
  job: Job,
  now: Millis,
): void {
  reply(s, from, message.request, retried(s, message, job, now));
}

function reply(s: SchedulerParts, to: Address, request: number, outcome: Accepted | Refusal): void {
  if (!('code' in outcome)) return s.answers.acknowledge(to, request, 'accepted', outcome);
  if (outcome.cause !== undefined) s.tallies.jobsRefused[outcome.cause]++;
  s.answers.refuse(to, request, outcome);
}

function submitted(
  s: SchedulerParts,
  from: Address,
  message: MessageOf<'submit'>,
  owner: string | undefined,
  now: Millis,
): Accepted | Refusal {
  const { key } = message;
  const user = owner ?? statedUser(message.spec);
  const known = knownBy(s, key, user);
  if (known !== undefined && !(known instanceof Job)) return known;
  const recent = s.recentSubmissions.get(scopedKey(key, user));
  if (known !== undefined && recent?.client === from && recent.request === message.request)
    return accepted(s, known);
  const spec = refusedIfInvalid((): JobSpec => {
    const given = parseJobSpec(message.spec);
    return owner === undefined ? given : { ...given, user: owner };
  });
  if ('code' in spec) return spec;
  if (known !== undefined) return again(s, key, known, spec);
  const refusal = whyNotNotified(spec, s.config.notifyHosts) ?? whyTooMuch(s, spec);
  if (refusal !== undefined) return refusal;
  const impossible = whyImpossible(spec, s.cluster.policy, s.cluster.members);
  if (impossible !== undefined) {
    // A later retry finds the worker, or is refused for good.
    const retryMs = s.cluster.isRosterYoung(now) ? YOUNG_RETRY_MS : undefined;
    return { code: 'impossible-demand', ...impossible, retryMs };
  }
  const job = refusedIfInvalid(() => accept(s, spec, key, now));
  if ('code' in job) return job;
  setLatest(
    s.recentSubmissions,
    scopedKey(key, user),
    { client: from, request: message.request },
    REMEMBERED,
  );
  return accepted(s, job);
}

/** @returns the refusal that an InputError stands for */
function refusedIfInvalid<T extends object>(make: () => T): T | Refusal {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const { code, message, hint } = error;
    return { code, message, hint };
  }
}

function retried(
  s: SchedulerParts,
  message: MessageOf<'retryJob'>,
  job: Job,
  now: Millis,
): Accepted | Refusal {
  const { key, tasks, failedOnly, asNew } = message;
  if (!s.cluster.isReady) return NOT_READY;
  if (key === '') return NO_KEY;
  if (job.retryKeys.includes(key)) return accepted(s, job);
  const known = asNew === true ? retryWithKey(s, key, job) : undefined;
  if (known !== undefined) return known;
  if (!isFinal(job.state)) {
    const problem = `${job.id} is still ${job.state}`;
    return { code: 'not-ended', message: problem, hint: 'wait for it to end, or cancel it' };
  }
  if (s.cluster.isDraining) return DRAINING;
  const last = Math.max(-1, ...(tasks ?? []).map((range) => range.last));
  if (last >= job.taskCount) {
    const hint = `its tasks are 0 to ${job.taskCount - 1}`;
    return { code: 'unknown-task', message: `${job.id} has no task ${last}`, hint };
  }
  const choice: RetryChoice = { failedOnly, tasks: tasks && mergedRanges(tasks) };
  const reopening = findReopening(job.dag, job.tasks, choice);
  if ('stage' in reopening) {
    const problem = `task ${reopening.task} of ${job.id} runs after stage ${reopening.stage}, which has not completed`;
    return {
      code: 'stage-not-completed',
      message: problem,
      hint: 'retry the failed tasks of that stage as well',
    };
  }
  const { count, completed } = reopening;
  if (count === 0) return { code: 'nothing-failed', message: nothingToRetry(job, choice), hint: '' };
  if (asNew === true) return retriedAsNew(s, key, job, reopening, now);
  const { overload } = s;
  const refusal =
    s.ledger.refusal ??
    overload.refusal() ??
    s.quotas.refusalOfTasks(job.spec.user, count, 0) ??
    overload.refusalOf(job.spec.user, count) ??
    overload.refusalOfBytes(job.spec.user, job.bytes);
  if (refusal !== undefined) return refusal;
  reopen(s, job, reopening, { key, choice }, now);
  return { ...accepted(s, job), again: count, ...(completed > 0 ? { completed } : {}) };
}

/** Answers a request whose key an earlier one had. */
function retryWithKey(s: SchedulerParts, key: string, { id, spec }: Job): Accepted | Refusal | undefined {
  const known = s.jobs.byKey(key, spec.user);
  if (known !== undefined)
    return known.spec.retryOf?.job === id ? accepted(s, known) : keyConflict(key, known.id);
  const trace = s.jobs.traceOf(key, spec.user);
  return trace && { job: s.jobs.idOf(trace.number), state: trace.state };
}

function retriedAsNew(
  s: SchedulerParts,
  key: string,
  job: Job,
  reopening: Reopening,
  now: Millis,
): Accepted | Refusal {
  if (s.config.adopted === true) return { ...DRAINING, hint: 'retry it in place, as the same job' };
  const missing = missingInputs(job, reopening);
  if (missing !== undefined) {
    const message = `stage ${missing.stage} takes return values of stage ${missing.of}, which only ${job.id} has`;
    return { code: 'missing-inputs', message, hint: 'retry it in place, as the same job' };
  }
  const spec = retrySpecOf(job, reopening);
  const refusal = s.ledger.refusal ?? s.overload.refusal() ?? whyTooMuch(s, spec);
  if (refusal !== undefined) return refusal;
  const made = refusedIfInvalid(() => accept(s, spec, key, now));
  if ('code' in made) return made;
  const { count, completed } = reopening;
  return { ...accepted(s, made), again: count, ...(completed > 0 ? { completed } : {}) };
}

function nothingToRetry({ id, state, spec }: Job, { tasks, failedOnly }: RetryChoice): string {
  if (spec.retryOf !== undefined && tasks !== undefined)
    return `none of these tasks failed in ${id}, which retries tasks of ${spec.retryOf.job}`;
  if (tasks !== undefined) {
    const named = formatTaskRanges(tasks);
    return tasksInRanges(tasks) === 1
      ? `task ${named} of ${id} has completed`
      : `tasks ${named} of ${id} have completed`;
  }
  return state === 'completed' || failedOnly !== true
    ? `no task of ${id} failed`
    : `no task of ${id} failed; it was cancelled`;
}

/**
 * The job with this key, or what is answered without a look at what was brought.
 *
 * @param user whose job it is, and so whose key; undefined: nobody's in particular
 * @returns undefined: a new job may be taken
 */
function knownBy(
  s: SchedulerParts,
  key: string,
  user: string | undefined,
): Job | Accepted | Refusal | undefined {
  // A job of an earlier incarnation may be asked about before there is a policy for new ones.
  if (!s.cluster.isReady) return NOT_READY;
  if (key === '') return NO_KEY;
  const known = s.jobs.byKey(key, user);
  if (known !== undefined) return known;
  // The job with the key had to make room: that it was here is known.
  const trace = s.jobs.traceOf(key, user);
  if (trace !== undefined) return { job: s.jobs.idOf(trace.number), state: trace.state };
  if (s.jobs.hasLeftOutKey(key, user))
    return { ...LEFT_OUT, message: `the job with this key ${LEFT_OUT.message}` };
  if (s.cluster.isDraining || s.config.adopted === true) return DRAINING;
  if (s.ledger.refusal !== undefined) return s.ledger.refusal;
  return (s.ledger.isShared ? undefined : s.keys.refusal(key)) ?? s.overload.refusal();
}

/** The user that a specification names, which is not checked yet. */
function statedUser(spec: unknown): string | undefined {
  const user = (spec as { user?: unknown } | null)?.user;
  return typeof user === 'string' ? user : undefined;
}

/** One user may have so much, and so much fits into memory. */
function whyTooMuch(s: SchedulerParts, spec: JobSpec): Refusal | undefined {
  const { user, stages, retryOf } = spec;
  const tasks =
    retryOf === undefined ? sumOf(stages, (stage) => countTasks(stage.tasks)) : tasksInRanges(retryOf.tasks);
  const bytes = bytesOf(spec);
  return (
    s.quotas.refusalOf(spec, tasks, bytes) ??
    s.overload.refusalOf(user, tasks) ??
    s.overload.refusalOfBytes(user, bytes)
  );
}

/** The key was here before: with the same job it is the same job, with another one a mistake. */
function again(s: SchedulerParts, key: string, job: Job, spec: JobSpec): Accepted | Refusal {
  return isSameJob(job.spec, spec) ? accepted(s, job) : keyConflict(key, job.id);
}

function accepted({ cluster }: SchedulerParts, job: Job): Accepted {
  const warning = whatIsMissing(job.spec, cluster.policy, cluster.members);
  return { job: job.id, state: job.state, ...(warning === undefined ? {} : { warning }) };
}

/** Another job of the cluster has the key of this one: the submitter gets that one for an answer. */
export function keyTaken(s: SchedulerParts, number: JobNumber, { id, accepted, ended }: KeyHolder): void {
  const job = s.jobs.byNumber(number);
  if (job === undefined) return;
  s.ledger.reword(job.id, (request) => {
    if (accepted === undefined) return refused(request, KEY_FREED);
    if (isSameJob(accepted.spec, job.spec))
      return { type: 'accepted', request, value: { job: id, state: ended ?? 'running' } };
    return refused(request, keyConflict(accepted.key ?? '', id));
  });
  s.routing.takeBack(job);
  s.predecessors.forget(job);
  s.jobs.withdraw(job);
}

function keyConflict(key: string, job: string): Refusal {
  return {
    code: 'key-conflict',
    message: `the key ${key} already belongs to another job, ${job}`,
    hint: 'use a different key for a different job',
  };
}

/** Submissions that are remembered: those that may still be on their way again. */
const REMEMBERED = 10_000;

const YOUNG_RETRY_MS = 500;

const RETRY = 'try again in a moment';

const KEY_FREED: Refusal = {
  code: 'not-ready',
  message: 'the job with this key was just forgotten',
  hint: RETRY,
};

/** The message follows the name of a job. */
export const LEFT_OUT: Refusal = {
  code: 'no-memory',
  message: 'is in the journal of this scheduler, which has no memory for it',
  hint: 'start the scheduler with a larger heap (NODE_OPTIONS=--max-old-space-size)',
};

const NO_KEY: Refusal = {
  code: 'bad-key',
  message: '"" is not a valid key',
  hint: `a key is text of 1 to ${LIMITS.nameLengthMax} characters`,
};

const DRAINING: Refusal = {
  code: 'draining',
  message: 'this scheduler is shutting down',
  hint: 'submit to another one',
};
