import {
  type Address,
  countTasks,
  formatTaskRanges,
  InputError,
  isFinal,
  type JobNumber,
  type JobSpec,
  type KeyHolder,
  type MessageOf,
  type Millis,
  mergedRanges,
  nameProblem,
  parseJobSpec,
  quoted,
  type RetryChoice,
  scopeOf,
  sumOf,
  tasksInRanges,
  whyImpossible,
} from '@goshawk/core';
import { unmetRequirements } from '../cluster/admission.js';
import { answerWhenDurable, refusalMessage, refuse } from '../durability/answers.js';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { notifyRefusal } from '../durability/notifications.js';
import { Job } from '../job/job.js';
import { estimateJobBytes } from '../job/job-bytes.js';
import { findReopening, type Reopening } from '../job/reopening.js';
import type { SchedulerState } from '../state/state.js';
import { acceptJob, reopenJob, setParent, withdrawJob } from './intake.js';
import { refusalOfPredecessors } from './predecessor-rights.js';
import { missingInputs, retrySpecOf } from './retry-spec.js';
import { isSameJob } from './same-job.js';

// Handles submissions and retries of clients: accepts them, recognizes repeated ones by key, or refuses them.

/** @param owner the only user that the client may submit for; undefined: any user */
export function submitJob(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'submit'>,
  owner: string | undefined,
  now: Millis,
): void {
  reply(s, from, message, () => trySubmit(s, from, message, owner, now));
}

/**
 * Runs tasks of an ended job again: as further attempts of the same job, or as a new job that keeps their numbers.
 */
export function retryJob(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'retryJob'>,
  job: Job,
  now: Millis,
): void {
  reply(s, from, message, () => tryRetry(s, message, job, now));
}

function reply(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'submit'> | MessageOf<'retryJob'>,
  decide: () => Accepted | Refusal,
): void {
  const { request } = message;
  const outcome = s.refused.of(from, message) ?? decide();
  if (!('code' in outcome)) return answerWhenDurable(s, from, request, 'accepted', outcome);
  if (outcome.cause !== undefined) s.tallies.jobsRefused[outcome.cause]++;
  s.refused.add(from, message, outcome);
  refuse(s, from, request, outcome);
}

function trySubmit(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'submit'>,
  owner: string | undefined,
  now: Millis,
): Accepted | Refusal {
  const { key } = message;
  const asked = userInRequest(message.spec);
  if (owner !== undefined && asked !== undefined && asked !== owner) return otherUser(owner, asked);
  const user = owner ?? asked;
  const known = knownOrRefused(s, key, user, parentInRequest(message.spec), now);
  if (known !== undefined && !(known instanceof Job)) return known;
  // Recognizes a repeated request without parsing the job, which is slow for large jobs.
  if (known?.client.submitter === from && known.client.submission === message.request)
    return accepted(s, known);
  const spec = refusedIfInvalid((): JobSpec => {
    const given = parseJobSpec(message.spec, 'job', now + s.config.wallOffsetMs);
    return owner === undefined ? given : { ...given, user: owner };
  });
  if ('code' in spec) return spec;
  if (known !== undefined) return answerRepeated(s, key, known, spec, now);
  const hidden = predecessorRefusal(s, from, spec, now);
  if (hidden !== undefined) return hidden;
  const refusal = notifyRefusal(spec, s.config.notifyHosts) ?? limitRefusal(s, spec, now);
  if (refusal !== undefined) return refusal;
  const impossible = whyImpossible(spec, s.cluster.joinedPolicy, s.cluster.members);
  if (impossible !== undefined) {
    // The client should retry while workers are still joining. Later, the refusal is permanent.
    const retryMs = s.cluster.mayMissWorkers(now) ? ROSTER_RETRY_MS : undefined;
    return { code: 'impossible-demand', ...impossible, retryMs };
  }
  const job = refusedIfInvalid(() => acceptJob(s, spec, key, now));
  if ('code' in job) return job;
  job.client.submitter = from;
  job.client.submission = message.request;
  return accepted(s, job);
}

/** Refuses a job that depends on jobs that the client may not see. */
function predecessorRefusal(
  s: SchedulerState,
  from: Address,
  { after = [], afterOk = [] }: JobSpec,
  now: Millis,
): Refusal | undefined {
  if (after.length + afterOk.length === 0) return undefined;
  const key = s.env.clientKeyOf?.(from);
  if (key === undefined || scopeOf(key, 'describeJob') === 'all') return undefined;
  return refusalOfPredecessors(s, [...after, ...afterOk], key.name, now);
}

function tryRetry(
  s: SchedulerState,
  message: MessageOf<'retryJob'>,
  job: Job,
  now: Millis,
): Accepted | Refusal {
  const { key, tasks, failedOnly, asNew } = message;
  if (!s.cluster.isReady) return NOT_READY;
  const badKey = keyRefusal(key);
  if (badKey !== undefined) return badKey;
  const choice: RetryChoice = { failedOnly, tasks: tasks && mergedRanges(tasks) };
  const known = retryWithKey(s, key, job, choice, asNew === true);
  if (known !== undefined) return known;
  if (!isFinal(job.state)) {
    const problem = `${job.id} is still ${job.state}`;
    return { code: 'not-ended', message: problem, hint: 'wait for it to end, or cancel it' };
  }
  if (s.cluster.isDraining) return { ...DRAINING, hint: 'try again after its restart' };
  const last = Math.max(-1, ...(tasks ?? []).map((range) => range.last));
  if (last >= job.taskCount) {
    const hint = `its tasks are 0 to ${job.taskCount - 1}`;
    return { code: 'unknown-task', message: `${job.id} has no task ${last}`, hint };
  }
  const reopening = findReopening(job.dag, job.tasks, choice);
  if ('stage' in reopening) {
    const problem = `task ${reopening.task} of ${job.id} runs after stage ${reopening.stage}, which has not completed`;
    return {
      code: 'stage-not-completed',
      message: problem,
      hint: 'retry the failed tasks of that stage as well',
      isRevocable: true,
    };
  }
  const { count, completed } = reopening;
  if (count === 0) {
    const message = nothingToRetry(job, choice);
    const hint =
      failedOnly === true && job.counts.cancelled > 0
        ? 'omit --failed to retry them'
        : 'only failed and cancelled tasks run again';
    return { code: 'nothing-failed', message, hint, isRevocable: true };
  }
  if (asNew === true) return retryAsNew(s, key, job, reopening, now);
  const { user } = job.spec;
  const parent = job.parent?.job;
  const refusal =
    s.ledger.refusal ??
    s.overload.refusal(user, parent) ??
    s.quotas.refusalOfTasks(user, count, 0, parent, now) ??
    s.overload.refusalOf(user, count, parent) ??
    s.overload.refusalOfBytes(user, job.bytes.total, parent);
  if (refusal !== undefined) return refusal;
  reopenJob(s, job, reopening, { key, choice }, now);
  return { ...accepted(s, job), again: count, ...(completed > 0 ? { completed } : {}) };
}

/** Answers a retry request whose key was used before. */
function retryWithKey(
  s: SchedulerState,
  key: string,
  job: Job,
  choice: RetryChoice,
  asNew: boolean,
): Accepted | Refusal | undefined {
  const { id, spec } = job;
  const earlier = job.retryWithKey(key, choice);
  if (earlier !== undefined)
    return earlier === 'same' && !asNew ? accepted(s, job) : retryKeyConflict(key, id);
  const known = s.jobs.byKey(key, spec.user);
  if (!asNew) return known?.spec.retryOf?.job === id ? keyConflict(key, known.id) : undefined;
  if (known !== undefined)
    return known.spec.retryOf?.job === id ? accepted(s, known) : keyConflict(key, known.id);
  const tombstone = s.jobs.tombstoneWithKey(key, spec.user);
  return tombstone && { job: s.jobs.idOf(tombstone.number), state: tombstone.state };
}

function retryAsNew(
  s: SchedulerState,
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
  const refusal = s.ledger.refusal ?? s.overload.refusal(spec.user) ?? limitRefusal(s, spec, now);
  if (refusal !== undefined) return refusal;
  const made = refusedIfInvalid(() => acceptJob(s, spec, key, now));
  if ('code' in made) return made;
  const { count, completed } = reopening;
  return { ...accepted(s, made), again: count, ...(completed > 0 ? { completed } : {}) };
}

/**
 * Returns the job with this key, or an answer that does not depend on the submitted job.
 *
 * @param user owner of the key; undefined: no user
 * @param parent id of the job whose task submits the job
 * @returns undefined: a new job may be accepted
 */
function knownOrRefused(
  s: SchedulerState,
  key: string,
  user: string | undefined,
  parent: string | undefined,
  now: Millis,
): Job | Accepted | Refusal | undefined {
  // Jobs of an earlier incarnation can be queried before there is a policy for new ones.
  if (!s.cluster.isReady) return NOT_READY;
  const badKey = keyRefusal(key);
  if (badKey !== undefined) return badKey;
  const known = s.jobs.byKey(key, user);
  if (known !== undefined) return known;
  // The job with the key was evicted, but its tombstone exists.
  const tombstone = s.jobs.tombstoneWithKey(key, user);
  if (tombstone !== undefined) return { job: s.jobs.idOf(tombstone.number), state: tombstone.state };
  if (s.jobs.isKeyOfNotLoadedJob(key, user))
    return { ...NOT_LOADED, message: `the job with this key ${NOT_LOADED.message}` };
  if (s.cluster.isDraining || s.config.adopted === true) return DRAINING;
  // A client that still waits repeats its request. One that has gone to another scheduler does not.
  if (s.cluster.mayReadStaleRequests(now)) return JUST_RESUMED;
  if (s.ledger.refusal !== undefined) return s.ledger.refusal;
  return (s.ledger.isShared ? undefined : s.keys.refusal(key)) ?? s.overload.refusal(user, parent);
}

/** Checks the limits of the user and of memory. */
function limitRefusal(s: SchedulerState, spec: JobSpec, now: Millis): Refusal | undefined {
  const { user, stages, retryOf } = spec;
  const parent = spec.parent?.job;
  const tasks =
    retryOf === undefined ? sumOf(stages, (stage) => countTasks(stage.tasks)) : tasksInRanges(retryOf.tasks);
  const bytes = estimateJobBytes(spec);
  return (
    s.quotas.refusalOf(spec, tasks, bytes, now) ??
    s.overload.refusalOf(user, tasks, parent) ??
    s.overload.refusalOfBytes(user, bytes, parent)
  );
}

/** Answers a submission whose key was used before: with that job if it is equal, else with an error. */
function answerRepeated(
  s: SchedulerState,
  key: string,
  job: Job,
  spec: JobSpec,
  now: Millis,
): Accepted | Refusal {
  if (!isSameJob(job.spec, spec)) return keyConflict(key, job.id);
  // Another attempt of the task that submitted it waits for it now.
  if (spec.parent !== undefined) setParent(s, job, spec.parent, now);
  return accepted(s, job);
}

/** Withdraws a job, because another job of the cluster has its key. The client gets that job as the answer. */
export function keyTaken(s: SchedulerState, number: JobNumber, { id, accepted, ended }: KeyHolder): void {
  const job = s.jobs.byNumber(number);
  if (job === undefined) return;
  s.ledger.replacePendingReplies(
    job.id,
    (request) => {
      if (accepted === undefined) return refusalMessage(request, KEY_HOLDER_DELETED);
      if (isSameJob(accepted.spec, job.spec))
        return { type: 'accepted', request, value: { job: id, state: ended ?? 'running' } };
      return refusalMessage(request, keyConflict(accepted.key ?? '', id));
    },
    (request) => refusalMessage(request, KEY_HOLDER_WITHDRAWN),
  );
  withdrawJob(s, job);
}

type Accepted = MessageOf<'accepted'>['value'];

/** Converts an `InputError` to a refusal. */
function refusedIfInvalid<T extends object>(make: () => T): T | Refusal {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const { code, message, hint } = error;
    return { code, message, hint };
  }
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
    : `no task of ${id} failed, but some were cancelled`;
}

/** The user that an unvalidated specification names. */
function userInRequest(spec: unknown): string | undefined {
  const user = (spec as { user?: unknown } | null)?.user;
  return typeof user === 'string' ? user : undefined;
}

/** The job that an unvalidated specification names as its parent. */
function parentInRequest(spec: unknown): string | undefined {
  const job = (spec as { parent?: { job?: unknown } | null } | null)?.parent?.job;
  return typeof job === 'string' ? job : undefined;
}

function accepted({ cluster }: SchedulerState, job: Job): Accepted {
  const warning = unmetRequirements(job.spec, cluster.joinedPolicy, cluster.members);
  return { job: job.id, state: job.state, ...(warning === undefined ? {} : { warning }) };
}

function keyConflict(key: string, job: string): Refusal {
  return {
    code: 'key-conflict',
    message: `the key ${key} already belongs to another job, ${job}`,
    hint: 'use a different key for a different job',
    isRevocable: true,
    keyHolder: job,
  };
}

function retryKeyConflict(key: string, job: string): Refusal {
  return {
    code: 'key-conflict',
    message: `the key ${key} already belongs to another retry of ${job}`,
    hint: 'use a different key for a different retry',
    isRevocable: true,
  };
}

const JUST_RESUMED: Refusal = {
  code: 'not-ready',
  message: 'this scheduler has just continued after a suspension',
  hint: 'try again in a moment',
};

const ROSTER_RETRY_MS = 500;

const RETRY_HINT = 'try again in a moment';

const KEY_HOLDER_DELETED: Refusal = {
  code: 'not-ready',
  message: 'the job with this key has just been deleted',
  hint: RETRY_HINT,
};

const KEY_HOLDER_WITHDRAWN: Refusal = {
  code: 'not-ready',
  message: 'another scheduler has just accepted a job with this key',
  hint: RETRY_HINT,
};

/** The message follows the name of a job. */
export const NOT_LOADED: Refusal = {
  code: 'no-memory',
  message: 'is in the journal of this scheduler, which has no memory for it',
  hint: 'start the scheduler with a larger heap (NODE_OPTIONS=--max-old-space-size)',
};

function keyRefusal(key: string): Refusal | undefined {
  const problem = nameProblem(key, 'a key');
  if (problem === undefined) return undefined;
  return {
    code: 'bad-key',
    message: `${quoted(key)} is not a valid key`,
    hint: problem,
  };
}

const DRAINING: Refusal = {
  code: 'draining',
  message: 'this scheduler is shutting down',
  hint: 'submit to another one',
};

function otherUser(owner: string, asked: string): Refusal {
  return {
    code: 'not-allowed',
    message: `this key submits jobs of ${quoted(owner)}, not of ${quoted(asked)}`,
    hint: 'omit --user (`user` of the job), or use a key with the right `operate`',
  };
}
