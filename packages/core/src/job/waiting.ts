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
  /** The pilots have not determined the class of the job yet. */
  'pilots',
  /** Central has not answered the request for a worker yet. */
  'placing',
  /** It is in the queue of a worker that central chose. */
  'queued',
  /** Its probes are in the queues of workers. */
  'probing',
  /** Central has no free worker for it. */
  'matching',
  /** It demands resources, and no free worker has enough of them. */
  'resources',
  /** The next idle worker that asks this scheduler takes it. */
  'seeking',
  /** It failed and is backing off before a retry. */
  'back-off',
  /** The job depends on another job that has not ended. */
  'other-job',
  /** No present worker has both the required attributes and enough room for the task, or for its gang. */
  'required',
  /** The user put the job on hold. */
  'held',
  /** The begin time of the job has not come. */
  'begin',
] as const;

export type WaitingReason = (typeof WAITING_REASONS)[number];

/** The phases of a started task's wait, in order: a closed list. */
export const WAIT_PHASES = [
  /** Until the jobs that its job depends on had ended. */
  'other-job',
  /** Until the earlier stages had completed. */
  'stage',
  /** Until the pilots had determined the class of its job. */
  'pilots',
  /** Until it first started. */
  'worker',
  /** From the first, unsuccessful attempt to the successful one. */
  'retry',
  /** While the job was on hold, or before its begin time. */
  'held',
] as const;

export type WaitPhase = (typeof WAIT_PHASES)[number];
