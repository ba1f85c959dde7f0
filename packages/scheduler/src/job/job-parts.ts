import { type Address, type JobSpec, type Millis, NOBODY } from '@goshawk/core';

/**
 * A job is in one of these phases of its life:
 *
 *     recording ──→ active ──→ ended
 *         ↑        ↗             │
 *         │  recovering          │
 *         └──────────────────────┘  retried
 *
 * - `recording`: the job or its last retry is not durable yet, and none of its tasks may be assigned.
 * - `recovering`: workers may still run tasks that an earlier incarnation of the owner started. The search for workers
 *   begins once they have answered.
 *
 * With a local journal, a new job is active before it is durable. A cancelled job is in any of these phases.
 */
export type JobPhase = 'recording' | 'recovering' | 'active' | 'ended';

/** What the clients of a job have sent last. */
export interface JobClient {
  /** The client that submitted it to this incarnation of the owner; NOBODY: none did. */
  submitter: Address;
  /** Number of that client's request. */
  submission: number;
  /** Whether clients may append tasks. An open job does not end before it is closed. */
  isOpen: boolean;
  /** Digest of all tasks, computed by the client that appended last. */
  digest: string;
  /** When a client last appended tasks or watched the job. */
  activeAt: Millis;
}

export function clientOf({ openMs }: JobSpec): JobClient {
  return { submitter: NOBODY, submission: 0, isOpen: openMs !== undefined, digest: '', activeAt: 0 };
}

/** What a job takes, in bytes, as the job store estimates it. */
export interface JobBytes {
  /** Memory of the submission. */
  spec: number;
  /** Memory of the job, with appended tasks and results. */
  total: number;
  /** Its records in the journal. */
  journal: number;
}

/** The jobs that must end before this one starts. */
export interface PredecessorWait {
  /** Ids of those that have not ended. */
  readonly pending: Set<string>;
  /** When the last one ended, or else when the job was accepted; undefined: no stage may start yet. */
  endedAt: Millis | undefined;
}

/** Shared by all jobs without predecessors. Nothing is ever added to it. */
const NONE = new Set<string>();

export function predecessorsOf({ after = [], afterOk = [] }: JobSpec, acceptedAt: Millis): PredecessorWait {
  const pending = after.length + afterOk.length === 0 ? NONE : new Set([...after, ...afterOk]);
  return { pending, endedAt: pending.size > 0 ? undefined : acceptedAt };
}

/** When things happened to a job after its acceptance, by the owner's clock. */
export class JobTimes {
  /** Earliest possible start: when it was accepted, its predecessors had ended, it was released, or it was last retried. */
  eligibleAt: Millis;
  /** When its pilots determined its class. */
  classifiedAt: Millis | undefined;
  firstStartAt: Millis | undefined;
  /** Earliest start that a worker has reported with the end of an attempt. */
  #firstReportedStartAt: Millis | undefined;
  /** When its end was recorded. */
  endedAt: Millis | undefined;
  /** When the last of its attempts ended, or it was closed or retried after that; undefined: nothing happened. */
  #progressAt: Millis | undefined;
  /** When it was last retried. */
  reopenedAt: Millis | undefined;
  /** When its first task started since its acceptance or last retry. */
  #runStartedAt: Millis | undefined;

  constructor(acceptedAt: Millis) {
    this.eligibleAt = acceptedAt;
  }

  /** Start of the time limit; Infinity: not started. */
  get runStartedAt(): Millis {
    return this.#runStartedAt ?? Number.POSITIVE_INFINITY;
  }

  /** Records a start, possibly earlier than the known ones. */
  started(at: Millis): void {
    this.firstStartAt = Math.min(this.firstStartAt ?? at, at);
    this.#runStartedAt = Math.min(this.#runStartedAt ?? at, at);
  }

  /** The starts so far do not count. */
  clearStart(): void {
    this.firstStartAt = undefined;
    this.#runStartedAt = undefined;
  }

  /** An attempt has ended that started at this time, according to its worker. */
  ran(startedAt: Millis): void {
    this.#firstReportedStartAt = Math.min(this.#firstReportedStartAt ?? startedAt, startedAt);
  }

  /** An attempt has ended, or the job was closed. Ends are not reported in order. */
  progressed(at: Millis): void {
    this.#progressAt = Math.max(this.#progressAt ?? at, at);
  }

  /** When it had nothing left to run, which is recorded later; undefined: it has not ended. */
  get doneAt(): Millis | undefined {
    if (this.endedAt === undefined) return undefined;
    return Math.min(this.endedAt, this.#progressAt ?? this.endedAt);
  }

  /** The time at which the first task started replaces the time at which it was assigned. */
  ended(at: Millis): void {
    this.endedAt = at;
    this.firstStartAt = this.#firstReportedStartAt ?? this.firstStartAt;
  }

  reopened(at: Millis): void {
    this.endedAt = undefined;
    this.#progressAt = at;
    this.reopenedAt = at;
    this.eligibleAt = at;
    this.#runStartedAt = undefined;
  }
}
