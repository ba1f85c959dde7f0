import {
  counted,
  formatDuration,
  GoshawkError,
  InputError,
  type JobDetail,
  type MessageOf,
  type Millis,
  type MissingScheduler,
  PROTOCOL_VERSION,
  type TaskFailure,
  UnreachableError,
} from '@goshawk/core';
import type { AuthFailure } from '@goshawk/transport';
import type { LocalCluster } from './local-clusters.js';

/** A job has ended, and not all of its tasks completed. Exit code 1. */
export class JobFailed extends GoshawkError {
  override name = 'JobFailed';
  readonly job: JobDetail;
  /** The first hundred of them, in task order; `job.failuresTruncated`: there are more. */
  readonly failures: readonly TaskFailure[];
  /** What the other tasks returned, by task; undefined where there is nothing. */
  readonly values: readonly unknown[];

  constructor(job: JobDetail, values: readonly unknown[] = []) {
    super('job-failed', describeEnd(job), `\`goshawk logs ${job.id} --failed\` shows what they printed`);
    this.job = job;
    this.values = values;
    this.failures = job.failures;
  }
}

/** A job was cancelled before all of its tasks had completed. Exit code 1. */
export class JobCancelled extends GoshawkError {
  override name = 'JobCancelled';
  readonly job: JobDetail;
  /** What tasks had returned, by task; undefined where there is nothing. */
  readonly values: readonly unknown[];

  constructor(job: JobDetail, values: readonly unknown[] = []) {
    const { completed, total } = job.tasks;
    const why = job.cancelReason === undefined ? '' : `; ${job.cancelReason}`;
    super('job-cancelled', `${job.id} was cancelled; ${completed} of its ${total} tasks had completed${why}`);
    this.job = job;
    this.values = values;
  }
}

/** A job has not ended within the time that the caller gave it; it goes on. Exit code 124. */
export class WaitTimeout extends GoshawkError {
  override name = 'WaitTimeout';

  constructor(id: string, timeoutMs: Millis) {
    super(
      'wait-timeout',
      `${id} has not ended within ${formatDuration(timeoutMs)}; it goes on`,
      `\`goshawk wait ${id}\` waits again`,
    );
  }
}

function describeEnd(job: JobDetail): string {
  const { failed, total } = job.tasks;
  const first = job.failures[0];
  const count = `${job.id} failed: ${failed} of ${counted(total, 'task')}`;
  return first === undefined ? count : `${count}; task ${first.task}: ${first.message || first.kind}`;
}

/** Refusals that are the caller's to put right. */
const INPUT_CODES: ReadonlySet<string> = new Set([
  'bad-job',
  'job-too-large',
  'impossible-demand',
  'unknown-job',
  'unknown-task',
  'unknown-stage',
  'bad-state',
  'has-ended',
  'forgotten-job',
  'unknown-worker',
  'unknown-scheduler',
  'not-shared',
  'not-ended',
  'nothing-failed',
  'key-conflict',
  'bad-key',
  'not-allowed',
  'spec-too-long',
  'not-open',
  'append-conflict',
]);

/** Refusals of somebody who cannot serve now; another one may, or the same one later. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set([
  'not-ready',
  'draining',
  'overloaded',
  'owner-away',
  'other-scheduler',
  'journal-full',
  'journal-unavailable',
]);

export function refusal({ code, message, hint }: MessageOf<'refused'>): GoshawkError {
  if (INPUT_CODES.has(code)) return new InputError(code, message, hint);
  if (UNAVAILABLE_CODES.has(code)) return new UnreachableError(code, message, hint);
  return new GoshawkError(code, message, hint);
}

/** @param what that was asked for, as in "asked to submit a job" */
export function noAnswer(whom: string, what: string, silentMs: Millis): UnreachableError {
  return new UnreachableError(
    'unreachable',
    `no answer from ${whom} for ${formatDuration(silentMs)}, asked ${what}`,
    `is the cluster running? If it is, its log says more: it may speak another protocol version than this client, ${PROTOCOL_VERSION}`,
  );
}

/** It is there, and does not take us. */
export function authFailure(whom: string, why: AuthFailure): UnreachableError {
  switch (why) {
    case 'keyNeeded':
      return new UnreachableError('keys-needed', `${whom} takes only clients with a key`, GIVE_KEYS);
    case 'keyUnknown':
      return new UnreachableError(
        'keys-unknown',
        `${whom} has no keys, and this client was given some`,
        'if this is the right cluster, leave out --keys and GOSHAWK_KEYS (in the SDK: `keys`)',
      );
    case 'keyRefused':
      return new UnreachableError(
        'keys-refused',
        `${whom} rejects this key, or this client has an old key of the cluster`,
        GIVE_KEYS,
      );
    case 'closed':
      return new UnreachableError(
        'no-handshake',
        `${whom} closes connections before the handshake`,
        'it is not running or still starting, or a proxy before it has no backend; if it runs, this key may be of another cluster',
      );
  }
}

const GIVE_KEYS = 'give the cluster’s client.key with --keys or GOSHAWK_KEYS (in the SDK: `keys`)';

export function ownerGone(id: string, whom: string, silentMs: Millis): UnreachableError {
  return new UnreachableError(
    'owner-gone',
    `no news of ${id}: no answer from ${whom}, which owns it, for ${formatDuration(silentMs)}`,
    'if the scheduler comes back, wait again; otherwise submit the job again',
  );
}

/** The processes of `goshawk up` end with it. */
export function clusterEnded({ url, pid, dataFolder }: LocalCluster): UnreachableError {
  return new UnreachableError(
    'unreachable',
    `the cluster at ${url} has ended: its process ${pid}, \`goshawk up\`, is gone`,
    dataFolder === undefined
      ? 'start it again with `goshawk up`'
      : `\`goshawk up --data-folder ${dataFolder}\` goes on with its jobs`,
  );
}

/** Central has not heard of its scheduler either. */
export function jobsOwnerAway(id: string, whom: string, cause: UnreachableError): UnreachableError {
  return new UnreachableError(
    'owner-away',
    `${id} belongs to ${whom}, which is away`,
    'it is known again when that scheduler is back, started with the same data folder',
    { cause },
  );
}

/** Its owner is expected and has not come since central was started. */
export function jobsOwnerMissing(id: string, { name, shared }: MissingScheduler): UnreachableError {
  return new UnreachableError(
    'owner-away',
    `${id} belongs to scheduler ${name}, which is away since before central was started`,
    shared
      ? `\`goshawk takeover ${name}\` gives its jobs to another scheduler; or start it again under this name`
      : 'it is known again when that scheduler is back, started with the same data folder',
  );
}

export function unknownJob(id: string): InputError {
  return new InputError(
    'unknown-job',
    `no scheduler of this cluster knows ${JSON.stringify(id)}`,
    'its scheduler is gone, or the id is wrong; `goshawk jobs --all` lists all jobs',
  );
}

export function connectionClosed(): GoshawkError {
  return new GoshawkError('closed', 'the connection to the cluster was closed', 'call connect again');
}

/** Somebody answered, but not what was asked for. */
export function badAnswer(whom: string, expected: string): GoshawkError {
  return new GoshawkError(
    'bad-answer',
    `${whom} answered something else than ${expected}`,
    'are client and cluster of the same version of Goshawk?',
  );
}
