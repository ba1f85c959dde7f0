import {
  type Address,
  type FateOfJob,
  LIMITS,
  type Millis,
  NOBODY,
  setLatest,
  slicesOf,
  tagOf,
} from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';
import type { RightsChecks, SchedulerState } from '../state/state.js';

/** Maximum number of users, of owners, and of jobs of one user, about which answers are kept. */
const USERS_MAX = 1_000;
const OWNERS_MAX = 10_000;
const CHECKS_MAX = 4 * LIMITS.predecessorsMax;
/** Interval between questions to another scheduler, while the client repeats its submission. ms */
const QUESTION_INTERVAL_MS = 500;
/** Owners about which one user has questions asked in that time. */
const OWNERS_ASKED_MAX = 32;

// For clients that may see only their own jobs: checks which jobs theirs may depend on. Without the check, the fate of their
// jobs would tell which other jobs exist, and how they end.
//
// The owner of a job of another scheduler is asked while the client repeats its submission. One question names all jobs of an
// owner, and the number of questions depends on no job, because each one costs central and another scheduler time.

/** Why a user who may see only own jobs may not submit a job that depends on these. */
export function refusalOfPredecessors(
  s: SchedulerState,
  ids: readonly string[],
  user: string,
  now: Millis,
): Refusal | undefined {
  const checks = checksOf(s, user);
  const open = new Map<string, string[]>();
  for (const id of ids) {
    const tag = tagOf(id);
    const isOwn = tag === s.config.tag ? isOwnJob(s, id, user) : checks.isOwn.get(id);
    if (isOwn === false) {
      // An id that is unknown now may belong to a job later.
      checks.isOwn.delete(id);
      return noSuchJob(id);
    }
    if (isOwn !== undefined) continue;
    const others = open.get(tag);
    if (others === undefined) open.set(tag, [id]);
    else others.push(id);
  }
  const [first] = open.values();
  if (first === undefined) return undefined;
  for (const [tag, of] of open) {
    for (const id of of) setLatest(checks.isOwn, id, undefined, CHECKS_MAX);
    askOwner(s, checks, { user, tag, ids: of }, now);
  }
  const message = `the scheduler of ${first[0]}, which the job depends on, has not answered yet`;
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
  const checks = s.rights.checks.get(user);
  for (const { id, state } of fates) if (checks?.isOwn.has(id)) checks.isOwn.set(id, state !== 'unknown');
}

export function rightsOwnerNamed(
  s: SchedulerState,
  tag: string,
  owner: Address | undefined,
  gone: boolean,
): void {
  if (s.rights.checks.size === 0) return;
  const known = s.rights.owners.get(tag);
  if (owner !== undefined) setLatest(s.rights.owners, tag, owner, OWNERS_MAX);
  // A known owner was asked already.
  if (owner === undefined ? !gone : owner === known) return;
  for (const [user, { isOwn }] of s.rights.checks) {
    const open = [...isOwn].flatMap(([id, answer]) =>
      answer === undefined && tagOf(id) === tag ? [id] : [],
    );
    if (owner === undefined) for (const id of open) isOwn.set(id, false);
    else sendQuestion(s, owner, open, user);
  }
}

function checksOf(s: SchedulerState, user: string): RightsChecks {
  const checks = s.rights.checks.get(user) ?? { isOwn: new Map(), askedAt: new Map() };
  setLatest(s.rights.checks, user, checks, USERS_MAX);
  return checks;
}

function askOwner(
  s: SchedulerState,
  { askedAt }: RightsChecks,
  { user, tag, ids }: { readonly user: string; readonly tag: string; readonly ids: readonly string[] },
  now: Millis,
): void {
  for (const [asked, at] of askedAt) if (now - at >= QUESTION_INTERVAL_MS) askedAt.delete(asked);
  if (askedAt.has(tag) || askedAt.size >= OWNERS_ASKED_MAX) return;
  askedAt.set(tag, now);
  const owner = s.rights.owners.get(tag);
  if (owner !== undefined) sendQuestion(s, owner, ids, user);
  // Another scheduler may have taken the jobs over.
  const { central } = s.cluster;
  if (central !== NOBODY) s.env.send(central, { type: 'seekOwner', tag });
}

function sendQuestion(s: SchedulerState, owner: Address, ids: readonly string[], user: string): void {
  for (const some of slicesOf(ids, LIMITS.awaitedMax))
    s.env.send(owner, { type: 'awaitJobs', ids: some, user });
}

/** The same refusal as for a job that does not exist. */
function noSuchJob(id: string): Refusal {
  return {
    code: 'unknown-job',
    message: `there is no job ${id}`,
    hint: '`goshawk jobs --all` lists the existing jobs',
  };
}
