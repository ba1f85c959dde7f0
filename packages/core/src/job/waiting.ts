/** Why a task waits: a closed list. What would help is in `docs/OPERATE.md`. */
export const WAITING_REASONS = [
  /** Its stage comes after another one of its job. */
  'stage',
  /** The scheduler has restarted, and workers have not reported its running tasks yet. */
  'resuming',
  /** The job runs its maximum number of tasks. */
  'job-limit',
  /** No worker is known. */
  'no-worker',
  /** Each worker that has room for it, in all, drains or has been drained. */
  'drained',
  /** Only central may place it, and central is silent. */
  'central-away',
  /** The pilots of its job have not decided its class. */
  'pilots',
  /** Central was asked for a worker and has not answered. */
  'placing',
  /** It is in the queue of the worker that central has chosen. */
  'queued',
  /** Its probes are in queues of workers. */
  'probing',
  /** Central knows of it, and has no free worker for it. */
  'matching',
  /** It demands resources, central knows of it, and no free worker has so much left. */
  'resources',
  /** The next worker that has nothing to do and asks here takes it. */
  'seeking',
  /** It has failed, and rests before it is tried again. */
  'back-off',
  /** Its job starts after another one that has not ended. */
  'other-job',
  /** The workers that are present do not have what its job requires, or not the room for it, or for its gang. */
  'required',
  /** Its user holds its job. */
  'held',
  /** Its job is to begin later. */
  'begin',
] as const;

export type WaitingReason = (typeof WAITING_REASONS)[number];

/** Phases that a started task waited for, in order: a closed list. */
export const WAIT_PHASES = [
  /** Until the jobs that its job starts after had ended. */
  'other-job',
  /** Until the stages before its own had. */
  'stage',
  /** Until the pilots of its job decided its class. */
  'pilots',
  /** Until it first started. */
  'worker',
  /** From the first, unsuccessful attempt to the successful one. */
  'retry',
  /** While the job was on hold, or before its begin time. */
  'held',
] as const;

export type WaitPhase = (typeof WAIT_PHASES)[number];
