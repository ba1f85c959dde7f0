import {
  counted,
  formatDuration,
  GoshawkError,
  InputError,
  type JobDetail,
  type MessageOf,
  type Millis,
  type MissingScheduler,
  OutcomeUnknownError,
  PENDING_CODE,
  PROTOCOL_VERSION,
  shellWord,
  type TaskFailure,
  UnreachableError,
} from '@goshawk/core';
import { type AuthFailure, isAboutKeys } from '@goshawk/transport';
import type { LocalCluster } from './local-clusters.js';

/** A job has ended, and not all of its tasks completed. Exit code 1. */
export class JobFailed extends GoshawkError {
  override name = 'JobFailed';
  readonly job: JobDetail;
  /** The first hundred failures, in task order; `job.failuresTruncated`: there are more. */
  readonly failures: readonly TaskFailure[];
  /** Return values of the other tasks by index; undefined if there is none. */
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
  /** Return values of tasks by index; undefined if there is none. */
  readonly values: readonly unknown[];

  constructor(job: JobDetail, values: readonly unknown[] = []) {
    const { completed, total } = job.tasks;
    const why = job.cancelReason === undefined ? '' : `; ${job.cancelReason}`;
    super('job-cancelled', `${job.id} was cancelled; ${completed} of its ${total} tasks had completed${why}`);
    this.job = job;
    this.values = values;
  }
}

/** A job has not ended within the caller's timeout; it continues. Exit code 124. */
export class WaitTimeout extends GoshawkError {
  override name = 'WaitTimeout';

  constructor(id: string, timeoutMs: Millis) {
    super(
      'wait-timeout',
      `${id} did not end within ${formatDuration(timeoutMs)}; it continues`,
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

/** Refusals that the caller can fix. */
const INPUT_CODES: ReadonlySet<string> = new Set([
  'bad-job',
  'job-too-large',
  'over-limit',
  'impossible-demand',
  'notify-host',
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
  'missing-inputs',
  'stage-not-completed',
  'key-conflict',
  'bad-key',
  'not-allowed',
  'spec-too-long',
  'not-open',
  'append-conflict',
]);

/** Refusals of an unavailable party; another one, or the same one later, may accept. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set([
  'not-ready',
  'draining',
  'overloaded',
  'owner-away',
  'other-scheduler',
  'journal-full',
  'journal-unavailable',
]);

/** The error for a request that a scheduler or central has refused. */
export function refusal({ code, message, hint }: MessageOf<'refused'>): GoshawkError {
  if (INPUT_CODES.has(code)) return new InputError(code, message, hint);
  if (code === PENDING_CODE) return new OutcomeUnknownError(code, message, hint);
  if (UNAVAILABLE_CODES.has(code)) return new UnreachableError(code, message, hint);
  return new GoshawkError(code, message, hint);
}

/** The error for a request of which a copy was sent and not answered. */
export function mayHaveEffect(cause: GoshawkError): OutcomeUnknownError {
  const message = `${cause.message}; the request may have taken effect`;
  return new OutcomeUnknownError(cause.code, message, cause.hint, { cause });
}

/** @param what description of the request, as in "when asked to submit a job" */
export function noAnswer(peer: string, what: string, silentMs: Millis): UnreachableError {
  return new UnreachableError(
    'unreachable',
    `no answer from ${peer} for ${formatDuration(silentMs)} when asked ${what}`,
    `is the cluster running? If so, it may be too busy: check its log; this client speaks protocol version ${PROTOCOL_VERSION}`,
  );
}

/** Central does not answer, but the client knows schedulers. */
export function centralAway(cause: UnreachableError): UnreachableError {
  const hint =
    'tasks keep running; `goshawk jobs`, `submit`, `wait` and `logs` work without central; start it again at its address';
  const Kind = cause instanceof OutcomeUnknownError ? OutcomeUnknownError : UnreachableError;
  return new Kind(cause.code, cause.message, hint, { cause });
}

/** No process listens at the address of a process that the cluster still lists. */
export function notRunning(peer: string): UnreachableError {
  return new UnreachableError(
    NOT_RUNNING_CODE,
    `${peer} is not running: nothing listens at its address`,
    'start it again with its name and data folder; its log says why it stopped',
  );
}

export const NOT_RUNNING_CODE = 'not-running';

/** @param isRefused whether nothing listens at the addresses, so that no busy process can be there */
export function unreachableCluster(
  seeds: readonly string[],
  cause: unknown,
  isRefused = false,
): UnreachableError {
  const question = isRefused ? 'is the cluster running?' : 'is the cluster running, or too busy to answer?';
  return new UnreachableError(
    'unreachable',
    `no answer from ${seeds.join(' or ')}; ${question}`,
    '`goshawk up` starts one on this machine; if only central is down, tasks keep running, and --cluster with the address of a scheduler works (several: comma-separated)',
    { cause },
  );
}

/** @param missing known schedulers that do not answer, described as after `no answer from` */
export function noSchedulers(missing: readonly string[]): UnreachableError {
  if (missing.length === 0)
    return new UnreachableError(
      'no-schedulers',
      'no scheduler of the cluster accepts jobs',
      'start one with `goshawk scheduler`',
    );
  return new UnreachableError(
    'no-schedulers',
    `no scheduler of the cluster is running: no answer from ${missing.join(', ')}`,
    'start it again with its name and data folder; its log says why it stopped',
  );
}

/** The process has completed the handshake and does not answer. */
export function silentProcess(endpoint: string, cause: unknown): UnreachableError {
  return new UnreachableError(
    'unreachable',
    `${endpoint} accepts connections but does not answer: it hangs, or speaks a protocol version other than ${PROTOCOL_VERSION}`,
    'its log names both versions; use a client of the same version as the cluster',
    { cause },
  );
}

/** The process has replied in another version of the protocol. */
export function otherVersion(peer: string, version: number): UnreachableError {
  return new UnreachableError(
    'other-version',
    `${peer} speaks protocol version ${version}; this client speaks version ${PROTOCOL_VERSION}`,
    version < PROTOCOL_VERSION
      ? 'use the client of the cluster’s version, or upgrade the cluster'
      : 'upgrade this client to the cluster’s version',
  );
}

/** The process rejects this client because of its keys, which only other keys change; undefined: it does not. */
export function keyRejection(peer: string, why: AuthFailure | undefined): UnreachableError | undefined {
  return why !== undefined && isAboutKeys(why) ? authFailure(peer, why) : undefined;
}

/** The process is running, but rejects the connection. */
export function authFailure(peer: string, why: AuthFailure): UnreachableError {
  switch (why) {
    case 'keyNeeded':
      return new UnreachableError('keys-needed', `${peer} accepts only clients with a key`, KEYS_HINT);
    case 'keyUnknown':
      return new UnreachableError(
        'keys-unknown',
        `${peer} uses no keys, but this client has one`,
        'if this is the right cluster, omit --keys and GOSHAWK_KEYS (in the SDK: `keys`)',
      );
    case 'keyRefused':
      return new UnreachableError(
        'keys-refused',
        `${peer} rejects this key: it has expired, was revoked or belongs to another cluster, or the cluster’s keys have changed`,
        KEYS_HINT,
      );
    case 'keyUnlisted':
      return new UnreachableError(
        'keys-old',
        `${peer} has an individual key that this key file does not list`,
        'the file is older than that key: copy it again from the cluster’s key folder',
      );
    case 'closed':
      return new UnreachableError(
        'no-handshake',
        `${peer} closes connections before the handshake`,
        'it is not running, is still starting, or is behind a proxy without a backend; if it runs, this key may belong to another cluster',
      );
    case 'slow':
      return new UnreachableError(
        'no-handshake',
        `${peer} does not complete the handshake in time`,
        'it hangs, or it or its machine is too busy; its log and `goshawk_event_loop_delay_seconds` show which',
      );
  }
}

const KEYS_HINT = 'pass the cluster’s client.key with --keys or GOSHAWK_KEYS (in the SDK: `keys`)';

export function ownerGone(id: string, peer: string, silentMs: Millis): UnreachableError {
  return new UnreachableError(
    'owner-gone',
    `no updates about ${id}: no answer from ${peer}, which owns it, for ${formatDuration(silentMs)}`,
    'wait again when the scheduler is back; otherwise submit the job again',
  );
}

/** The processes of `goshawk up` end with it. */
export function clusterEnded({ url, pid, dataFolder }: LocalCluster): UnreachableError {
  return new UnreachableError(
    'unreachable',
    `the cluster at ${url} is down: its \`goshawk up\` process ${pid} has exited`,
    dataFolder === undefined
      ? 'start it again with `goshawk up`'
      : `\`goshawk up --data-folder ${shellWord(dataFolder)}\` resumes its jobs`,
  );
}

/** Central cannot reach the job's scheduler either. */
export function jobsOwnerAway(id: string, peer: string, cause: UnreachableError): UnreachableError {
  return new UnreachableError(
    'owner-away',
    `${id} belongs to ${peer}, which is down`,
    'restart that scheduler with the same data folder to see the job again',
    { cause },
  );
}

/** The job's scheduler is expected, but has not joined since central's start. */
export function jobsOwnerMissing(id: string, { name, shared }: MissingScheduler): UnreachableError {
  return new UnreachableError(
    'owner-away',
    `${id} belongs to scheduler ${name}, which has not connected since central started`,
    shared
      ? `\`goshawk takeover ${name}\` moves its jobs to another scheduler; or restart it under this name`
      : 'restart that scheduler with the same data folder to see the job again',
  );
}

export function unknownJob(id: string): InputError {
  return new InputError(
    'unknown-job',
    `no scheduler of this cluster knows ${JSON.stringify(id)}`,
    'the id is wrong, or its scheduler is gone; `goshawk jobs --all` lists all jobs',
  );
}

export function connectionClosed(): GoshawkError {
  return new GoshawkError('closed', 'the connection to the cluster was closed', 'call connect again');
}

/** A party sent an unexpected reply. */
export function badAnswer(peer: string, expected: string): GoshawkError {
  return new GoshawkError(
    'bad-answer',
    `${peer} sent an unexpected response instead of ${expected}`,
    'check that client and cluster run the same version of Goshawk',
  );
}
