/** Why a task waits: a closed list. `docs/MONITORING.md` says what helps. */
export const WAITING_REASONS = [
  /** An earlier stage of the job has not completed. */
  'stage',
  /** The scheduler has restarted, and workers have not reported its running tasks yet. */
  'resuming',
  /** The job runs its maximum number of tasks. */
  'job-limit',
  /** No worker is known. */
  'no-worker',
  /** Every worker that is large enough for it is draining or drained. */
  'drained',
  /** Only central can place it, and central does not respond. */
  'central-away',
  /** Central has not answered the request for a worker yet. */
  'placing',
  /** It is in the queue of a worker that central chose. */
  'queued',
  /** Its probes are in the queues of workers. */
  'probing',
  /** It waits at central for a worker. */
  'matching',
  /** No worker has enough of what it demands free. */
  'resources',
  /** The next idle worker that asks this scheduler takes it. */
  'seeking',
  /** It failed or lost several workers, and is backing off before the next attempt. */
  'back-off',
  /** The job depends on another job that has not ended. */
  'other-job',
  /** No present worker has both the required attributes and enough room for the task, or for its gang. */
  'required',
  /** The user put the job on hold. */
  'held',
  /** The begin time of the job has not been reached. */
  'begin',
  /** The limit on long tasks is reached; the rest is for short ones. */
  'reserve',
  /** The free room is reserved for another job. */
  'reserved',
  /** Its user or project has reached a limit. */
  'user-limit',
] as const;

export type WaitingReason = (typeof WAITING_REASONS)[number];

/** Limits that only central knows. To its owner, such a task is just `matching`. */
const CENTRAL_REASONS: ReadonlySet<WaitingReason> = new Set([
  'resources',
  'reserve',
  'reserved',
  'user-limit',
]);

/** Reasons that the owner of a task can give. */
export const OWNER_REASONS = WAITING_REASONS.filter((reason) => !CENTRAL_REASONS.has(reason));

/** The phases of a started task's wait, in order: a closed list. */
export const WAIT_PHASES = [
  /** Until the jobs that its job depends on had ended. */
  'other-job',
  /** Until the earlier stages had completed. */
  'stage',
  /** Until it first started. */
  'worker',
  /** From the first, unsuccessful attempt to the last one. */
  'retry',
  /** While the job was on hold, or before its begin time. */
  'held',
] as const;

export type WaitPhase = (typeof WAIT_PHASES)[number];
