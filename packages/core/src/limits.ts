/** Every limit on outside input, in one place. Exceeding one results in a clear error; none is a target. */
export const LIMITS = {
  /** Tasks of one job, all stages together. */
  tasksPerJobMax: 1_000_000,
  stagesPerJobMax: 1_000,
  /** Dependencies between stages of a job. */
  dependenciesPerJobMax: 100_000,
  /** Ranges of tasks in one request: a journal record of them stays below 64 kB. */
  taskRangesMax: 2_900,
  /** Characters of the name of a job, stage, user, worker or key. */
  nameLengthMax: 256,
  /** Characters of a line of text for users. */
  lineLengthMax: 4_096,
  /** Characters of one argument or environment value. */
  argumentLengthMax: 128 * 1024,
  /** Bytes (UTF-8) of one argument or variable with its name and "=": the limit of Linux. */
  argumentBytesMax: 128 * 1024 - 1,
  /** Path limit of Linux (PATH_MAX). */
  pathLengthMax: 4_096,
  argumentsMax: 4_096,
  environmentMax: 1_024,
  retriesMax: 1_000,
  /** Maximum back-off between retries. */
  retryBackoffMaxMs: 300_000,
  exitCodesMax: 256,
  /**
   * A duration given by a user: ten million days, in ms. The total of a million such tasks is still finite.
   */
  durationMaxMs: 10_000_000 * 24 * 60 * 60 * 1_000,
  /** Milliseconds in a message; their sums and squares are still finite. */
  wireMsMax: 1e30,
  /** Amount of a resource, such as bytes of memory; whole numbers up to here are exact. */
  amountMax: Number.MAX_SAFE_INTEGER,
  /** Characters of a duration or an amount as text. */
  quantityLengthMax: 64,
  weightMax: 1e9,
  slowdownMax: 1_000,
  /** Unfinished jobs of one scheduler; further jobs are refused as `overloaded`, to be retried later. */
  activeJobsMax: 100_000,
  /**
   * Jobs of one scheduler whose acceptance is not on disk yet. After a restart the scheduler skips this many
   * numbers, so that a started but unrecorded job never shares its number with another.
   */
  unrecordedJobsMax: 10_000,
  /** Unfinished jobs of one user. */
  activeJobsPerUserMax: 50_000,
  /**
   * Default memory budget of a scheduler, by its own estimate, if the available memory is unknown. In bytes.
   */
  schedulerBytesMax: 2 * 1024 * 1024 * 1024,
  /**
   * An ended job, its key and its results are kept at least this long (ms), even above the limit on their
   * number, because clients retry for a shorter time.
   */
  endedAgeMinMs: 10 * 60_000,
  /**
   * Text and binary in one answer to a client, in bytes, and the number of its values and keys. Longer answers
   * are split into pages.
   */
  answerBytesMax: 1024 * 1024,
  answerValuesMax: 250_000,
  /** Estimated bytes of the tasks of one request that appends some, each with the common fields. */
  appendedBytesMax: 32 * 1024 * 1024,
  /** Tasks of a job whose times are included in the final event. */
  timedTasksMax: 100_000,
  /** Jobs in one list for a client. */
  jobsListedMax: 10_000,
  /** Events of the cluster in one answer, and those that central keeps. */
  eventsPerPageMax: 1_000,
  eventsMax: 20_000,
  /** Events that a scheduler reports in one message, and the length of their texts. */
  noticesPerMessageMax: 50,
  noticeCharactersMax: 512,
  /** Problems of the cluster that central lists. */
  warningsMax: 16,
  /** Clients that receive progress of one scheduler's jobs. */
  watchesMax: 100_000,
  /** Jobs that one job depends on, of each kind. */
  predecessorsMax: 1_000,
  /** Jobs in one query about their state, or in the reply. */
  awaitedMax: 10_000,
  /** Distinct resource names in a demand or a capacity, and those that one worker adds to the cluster's. */
  resourcesMax: 32,
  /** Distinct resource names that one central knows, of all workers and jobs since its start; jobs may add half of them. */
  resourceNamesMax: 256,
  /** Alternative values of a required attribute. */
  attributeValuesMax: 12,
  /** Attributes of a worker, or in a job's requirements or preferences. */
  attributesMax: 32,
  /** Segments of a distribution of run times. */
  segmentsMax: 128,
  /** GPUs of one worker, which are assigned by index. */
  gpusMax: 1_024,
  /** Running tasks whose CPUs one task borrows. */
  lendersMax: 64,
  /** Depth of jobs that tasks submit and wait for, all on the CPUs of the first task. */
  nestedMax: 8,
  /** Workers that one need excludes. A task that failed at more workers declines the others when it is matched. */
  avoidedWorkersMax: 64,
  /** Tasks of one gang; their hosts must fit into an environment variable. */
  gangTasksMax: 1_024,
  slotsMax: 4_096,
  /** Concurrent tasks of a worker whose tasks take fractions of its CPUs: per CPU, and in total. */
  placesPerCpu: 16,
  placesMax: 256,
  /** A task fails after this many attempts that ended because their worker was lost. */
  lossesPerTaskMax: 8,
  /**
   * A job fails after this many workers were lost while they ran a single task: one of this job, or of the
   * user's jobs with the same program.
   */
  lossesPerJobMax: 8,
  /** Captured bytes of stdout, and of stderr, of one attempt. */
  outputBytesMax: 1024 * 1024,
  /**
   * Memory of a worker process for output of running tasks, which it sends again if their scheduler restarts. In bytes.
   */
  keptOutputBytesMax: 32 * 1024 * 1024,
  /** Bytes of the last lines of a failed task's output, which the failure report includes. */
  lastLinesBytesMax: 4_096,
  /** Bytes of a task's encoded return value. */
  resultBytesMax: 256 * 1024,
  /** Characters of the values of earlier stages that a task receives, as JSON lines. */
  inputLengthMax: 4 * 1024 * 1024,
  /** Parties in one membership message. */
  membersMax: 200_000,
  /** Users and projects in a `--users` file, and users in a usage report. */
  usersListedMax: 1_000,
  /** Users and projects whose usage at one scheduler central passes on, those with the most waiting tasks first. */
  usageListedMax: 20_000,
  /** Jobs that one request cancels by user, name or state; a client continues with further requests. */
  cancelledMax: 500,
  /** Previous incarnations of one scheduler whose tasks workers may still hold. */
  previousIncarnationsMax: 16,
  /** Tasks of one owner at a worker: running, or ended without confirmation. */
  heldTasksMax: 100_000,
  /** Probes in one steal. */
  stolenProbesMax: 100_000,
  /** Features of a job that an estimator uses. */
  featuresMax: 32,
  /** Addresses at which one central is reachable. */
  centralPlacesMax: 16,
  /** Tasks in one message between an owner and central; more are split into several messages. */
  tasksPerMessageMax: 10_000,
  /** Stages of waiting jobs in one acknowledgment to their owner. */
  waitingListedMax: 3_000,
} as const;

/**
 * Why a scheduler refuses a submission for now: the number of jobs, their memory, the waiting tasks of one user, an
 * unavailable journal, or the number of jobs of one user.
 */
export const OVERLOADS = ['jobs', 'memory', 'user', 'journal', 'user-jobs'] as const;
export type OverloadReason = (typeof OVERLOADS)[number];
