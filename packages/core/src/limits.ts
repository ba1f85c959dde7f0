/**
 * Every limit on what comes from outside, in one place. Reaching one is answered with a clear line; none
 * of them is a target.
 */
export const LIMITS = {
  /** Tasks of one job, all stages together. */
  tasksPerJobMax: 1_000_000,
  stagesPerJobMax: 1_000,
  /** Ranges of tasks in one request: a journal record of them stays below 64 kB. */
  taskRangesMax: 2_900,
  /** Names of jobs, stages, users, workers, keys. In characters. */
  nameLengthMax: 256,
  /** A line for people. In characters. */
  lineLengthMax: 4_096,
  /** One argument or environment value. In characters. */
  argumentLengthMax: 128 * 1024,
  /** The same for the system: a variable counts with its name and "=". In bytes of UTF-8. */
  argumentBytesMax: 128 * 1024 - 1,
  /** Path limit of Linux (PATH_MAX). */
  pathLengthMax: 4_096,
  argumentsMax: 4_096,
  environmentMax: 1_024,
  retriesMax: 1_000,
  /** Upper limit of doubled back-offs. */
  retryBackoffMaxMs: 300_000,
  exitCodesMax: 256,
  /** A duration that people give: ten million days. In ms. What a million tasks of it take is finite still. */
  durationMaxMs: 10_000_000 * 24 * 60 * 60 * 1_000,
  /** Milliseconds in a message: sums and squares of them are finite, too. */
  wireMsMax: 1e30,
  /** An amount of a resource, such as bytes of memory: up to here sums of whole numbers are exact. */
  amountMax: Number.MAX_SAFE_INTEGER,
  /** A duration or an amount as text. In characters. */
  quantityLengthMax: 64,
  weightMax: 1e9,
  slowdownMax: 1_000,
  /** Jobs of one scheduler that have not ended; more are refused as `overloaded`, to be tried again. */
  activeJobsMax: 100_000,
  /**
   * Jobs of one scheduler whose acceptance is not on its disk yet. After a restart this many numbers are passed over,
   * so that a job that was started and never recorded shares its number with none.
   */
  unrecordedJobsMax: 10_000,
  /** Those of one user, as jobs say. */
  activeJobsPerUserMax: 50_000,
  /** Default memory budget of a scheduler, by its own estimate, if the available memory is unknown. Bytes. */
  schedulerBytesMax: 2 * 1024 * 1024 * 1024,
  /** An ended job, its key and its results are not forgotten sooner because there are too many: longer than clients wait. ms */
  endedAgeMinMs: 10 * 60_000,
  /** One answer to a client: text and byte arrays in bytes, and values and keys. What is longer comes in pages. */
  answerBytesMax: 1024 * 1024,
  answerValuesMax: 250_000,
  /** Tasks of a job whose times come with the news of its end. */
  timedTasksMax: 100_000,
  /** Jobs in one list for a client. */
  jobsListedMax: 10_000,
  /** Clients that receive progress of one scheduler's jobs. */
  watchesMax: 100_000,
  /** Jobs that one job waits for, of each kind. */
  predecessorsMax: 1_000,
  /** Jobs that one message asks after, or tells of. */
  awaitedMax: 10_000,
  /** Distinct resource names in a demand or a capacity. */
  resourcesMax: 32,
  /** Values of an attribute of which a job takes any. */
  attributeValuesMax: 12,
  /** Attributes of a worker, and those that a job prefers or requires. */
  attributesMax: 32,
  /** Segments of a distribution of run times. */
  segmentsMax: 128,
  /** GPUs of one worker, which are assigned by index. */
  gpusMax: 1_024,
  /** Workers that one need names as avoided: a retry beyond them is declined, and looks on. */
  avoidedWorkersMax: 64,
  /** Tasks of one gang: the environment variable with their hosts is bounded by the system. */
  gangTasksMax: 1_024,
  slotsMax: 4_096,
  /** Tasks at a time of a worker without a fixed number of slots. */
  placesWithoutSlots: 256,
  /** Runs of one task that ended because its worker was lost, before the task is given up. */
  lossesPerTaskMax: 8,
  /** Workers lost one by one with tasks of one job that ran apart, before the job is given up. */
  lossesPerJobMax: 8,
  /** Captured output of one attempt, of stdout and of stderr each. In bytes. */
  outputBytesMax: 1024 * 1024,
  /** The last lines of a failed task that are reported with the failure. Bytes. */
  lastLinesBytesMax: 4_096,
  /** A task's return value, encoded. In bytes. */
  resultBytesMax: 256 * 1024,
  /** Values of earlier stages that a task is given, as JSON lines. In characters. */
  inputLengthMax: 4 * 1024 * 1024,
  /** Parties in one membership message. */
  membersMax: 200_000,
  /** Users and projects in a file of `--users`, and users in a report of what they hold. */
  usersListedMax: 1_000,
  /** Incarnations of one scheduler that workers may still hold tasks of. */
  previousIncarnationsMax: 16,
  /** Tasks that a worker holds of one owner: those that run, and those of which the end is not confirmed. */
  heldTasksMax: 100_000,
  /** Probes that one thief gets at a time. */
  stolenProbesMax: 100_000,
  /** Job features that an estimator learns from. */
  featuresMax: 32,
  /** Addresses under which one central is reachable. */
  centralPlacesMax: 16,
  /** Tasks in one message between an owner and central; more of them go in several. */
  tasksPerMessageMax: 10_000,
} as const;

/** Why a scheduler tells submitters to come back later: as many jobs, or of one user, as it takes; their memory; its journal is away. */
export const OVERLOADS = ['jobs', 'memory', 'user', 'journal'] as const;
export type OverloadReason = (typeof OVERLOADS)[number];
