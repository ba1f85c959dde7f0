import {
  type Address,
  type FateOfJob,
  type Millis,
  NOBODY,
  scopedKey,
  setLatest,
  tagOf,
} from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';
import type { RightsCheck, SchedulerState } from '../state/state.js';

/** Maximum number of answers about jobs of other schedulers that are kept. */
const CHECKS_MAX = 10_000;
/** Interval between questions to another scheduler, while the client repeats its submission. ms */
const QUESTION_INTERVAL_MS = 500;

// For clients that may see only their own jobs: checks which jobs theirs may depend on. Without the check, the fate of their
// jobs would tell which other jobs exist, and how they end.
//
// The owner of a job of another scheduler is asked while the client repeats its submission.

/** Why a user who may see only own jobs may not submit a job that depends on these. */
export function refusalOfPredecessors(
  s: SchedulerState,
  ids: readonly string[],
  user: string,
  now: Millis,
): Refusal | undefined {
  const open: RightsCheck[] = [];
  for (const id of ids) {
    const isLocal = tagOf(id) === s.config.tag;
    const check = isLocal ? undefined : checkOf(s, id, user);
    const isOwn = check === undefined ? isOwnJob(s, id, user) : check.isOwn;
    if (isOwn === false) return noSuchJob(id);
    if (isOwn === undefined) open.push(check!);
  }
  const [first] = open;
  if (first === undefined) return undefined;
  for (const check of open) askOwner(s, check, now);
  const message = `the scheduler of ${first.id}, which the job depends on, has not answered yet`;
  return { code: 'not-ready', message, hint: 'try again in a moment' };
}

/** Whether a local job exists and is one of the user. */
export function isOwnJob(s: SchedulerState, id: string, user: string): boolean {
  const { jobs } = s;
  // A job of another user is not read from the journal, which would take longer than for an unknown one.
  const tombstone = jobs.tombstoneOfId(id);
  if (tombstone !== undefined) return tombstone.user === user;
  return jobs.byId(id)?.spec.user === user;
}

/** The owner of jobs has answered a question. */
export function rightsReported(s: SchedulerState, fates: readonly FateOfJob[], user: string): void {
  for (const { id, state } of fates) {
    const check = s.rights.checks.get(scopedKey(id, user));
    if (check !== undefined) check.isOwn = state !== 'unknown';
  }
}

export function rightsOwnerNamed(
  s: SchedulerState,
  tag: string,
  owner: Address | undefined,
  gone: boolean,
): void {
  if (s.rights.checks.size === 0) return;
  if (owner !== undefined) setLatest(s.rights.owners, tag, owner, CHECKS_MAX);
  for (const check of s.rights.checks.values()) {
    if (check.isOwn !== undefined || tagOf(check.id) !== tag) continue;
    if (owner !== undefined) sendQuestion(s, owner, check);
    else if (gone) check.isOwn = false;
  }
}

function checkOf(s: SchedulerState, id: string, user: string): RightsCheck {
  const key = scopedKey(id, user);
  let check = s.rights.checks.get(key);
  // An id that is unknown now may belong to a job later.
  if (check === undefined || check.isOwn === false) {
    const askedAt = Number.NEGATIVE_INFINITY;
    const known = check;
    check = { id, user, isOwn: undefined, askedAt };
    setLatest(s.rights.checks, key, check, CHECKS_MAX);
    if (known !== undefined) return known;
  }
  return check;
}

function askOwner(s: SchedulerState, check: RightsCheck, now: Millis): void {
  if (now - check.askedAt < QUESTION_INTERVAL_MS) return;
  check.askedAt = now;
  const tag = tagOf(check.id);
  const owner = s.rights.owners.get(tag);
  if (owner !== undefined) sendQuestion(s, owner, check);
  // Another scheduler may have taken the jobs over.
  const { central } = s.cluster;
  if (central !== NOBODY) s.env.send(central, { type: 'seekOwner', tag });
}

function sendQuestion(s: SchedulerState, owner: Address, { id, user }: RightsCheck): void {
  s.env.send(owner, { type: 'awaitJobs', ids: [id], user });
}

/** The same refusal as for a job that does not exist. */
function noSuchJob(id: string): Refusal {
  return {
    code: 'unknown-job',
    message: `there is no job ${id}`,
    hint: '`goshawk jobs --all` lists the existing jobs',
  };
}
