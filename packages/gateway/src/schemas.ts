import {
  JOB_FATES,
  JOB_STATES,
  LIMITS,
  PRIORITIES,
  STAGE_STATES,
  USAGE_GROUPS,
  WAIT_PHASES,
  WAITING_REASONS,
  WORKER_STATES,
} from '@goshawk/core';
import { estimatorScoreShape } from '@goshawk/predictor';
import { z } from 'zod';
import { ROLES } from './access.js';
import { BULK_ACTIONS } from './bulk.js';
import { BAR_STATES } from './task-stream.js';
import { SHOWN_STATES } from './worker-table.js';

/**
 * Schemas of replies. The OpenAPI document is generated from them, and a test checks real replies against
 * them.
 */

const count = z.int().nonnegative();
const seconds = z.number().nonnegative();
const time = z.iso.datetime();
const jobClass = z.enum(['short', 'long']);

const taskCounts = z.object({
  total: count,
  waiting: count,
  running: count,
  completed: count,
  failed: count,
  cancelled: count,
});

/** When an active job is expected to end. */
const expectedEnd = z.object({
  at: time,
  /** The job ends from `earliest` to `latest` in about nine of ten cases. */
  earliest: time,
  latest: time,
  /** When this was computed. */
  computedAt: time,
});

const summary = z.object({
  id: z.string(),
  name: z.string(),
  user: z.string().nullable(),
  class: jobClass,
  classifiedBy: z.string(),
  estimateSeconds: seconds.nullable(),
  state: z.enum(JOB_STATES),
  /** Whether the job is on hold. */
  held: z.boolean(),
  /** Earliest start; null once that time has passed. */
  beginAt: time.nullable(),
  /** The job whose tasks this job retries, under the same indices. */
  retryOf: z.string().nullable(),
  tasks: taskCounts,
  submittedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  deadlineAt: time.nullable(),
  deadlineMet: z.boolean().nullable(),
  /** null: unknown, or the job has ended. */
  expectedEnd: expectedEnd.nullable(),
});

export const session = z.object({
  schema: z.literal('goshawk.session/1'),
  cluster: z.string(),
  /** Role of the caller. */
  role: z.enum(ROLES),
});

/** The state of a job after an action on it. */
function jobStateAfter<const S extends string>(schema: S) {
  return z.object({ schema: z.literal(schema), job: z.string(), state: z.enum(JOB_STATES) });
}

export const submitted = jobStateAfter('goshawk.submit/1').extend({
  /** Warning about a likely mistake: no worker meets the requirements of the job. */
  warning: z.string().optional(),
  /** Numbers of tasks that `submit --resume` and `--skip-existing` left out. */
  skipped: z.object({ completed: count, active: count, existing: count }).optional(),
  /** The ended job, in the output of `submit --wait --json` only. */
  get ended() {
    return job.optional();
  },
});
/** A job after a change of it. */
function changedJob<const S extends string>(schema: S) {
  return z.object({ schema: z.literal(schema), job: z.string(), ...summary.shape });
}

export const held = changedJob('goshawk.hold/1');
export const released = changedJob('goshawk.release/1');
export const updated = changedJob('goshawk.update/1').extend({
  /** The new priority. */
  priority: z.enum(PRIORITIES),
});
export const retried = jobStateAfter('goshawk.retry/1').extend({
  /** Number of retried tasks; 0 if this retry was already known. */
  tasks: count,
  /** Number of selected tasks that had completed and are not retried. */
  completed: count,
});
export const appended = z.object({
  schema: z.literal('goshawk.append/1'),
  job: z.string(),
  state: z.enum(JOB_STATES),
  /** Number of tasks that the job has now. */
  tasks: count,
  /** Digest of the last request that appended tasks. */
  digest: z.string(),
  closed: z.boolean(),
});
export const cancelled = jobStateAfter('goshawk.cancel/1').extend({
  /** Counts of selected tasks: `killing` are running and being killed; `ended` had completed or failed before. */
  tasks: z.object({ cancelled: count, killing: count, ended: count }).optional(),
});
export const jobsCancelled = z.object({
  schema: z.literal('goshawk.cancelled/1'),
  jobs: count,
  tasks: z.object({ waiting: count, running: count }),
  /** Schedulers that did not answer, so their jobs may continue. */
  silent: z.array(z.string()),
});

export const jobs = z.object({
  schema: z.literal('goshawk.jobs/1'),
  jobs: z.array(summary),
  /** Cutoff between short and long jobs and origin of the cutoff, in the output of `goshawk jobs` only. */
  cutoffSeconds: seconds.nullable().optional(),
  cutoffFrom: z.string().nullable().optional(),
  total: count,
  truncated: z.boolean(),
  /** Counts by state, independent of the state filter. */
  counts: taskCounts,
  /** `from` of the next page; null with `after`. */
  next: count.nullable(),
  /** `after` of the next page, which costs less than `from`. */
  cursor: z.string().nullable(),
  silent: z.array(z.string()),
  warnings: z.array(z.string()),
  /** Waiting tasks per user at schedulers with a limit. */
  quotas: z.array(
    z.object({ user: z.string().optional(), waiting: count, max: count, scheduler: z.string() }),
  ),
});

/** Pauses of an attempt while other tasks used its CPUs; `runSeconds` excludes them. */
const lending = {
  pausedSeconds: seconds,
  /** The task that uses its CPUs at present, as JOB/TASK; null: the attempt is not paused. */
  lentTo: z.string().nullable(),
  /** Tasks that were paused for it, once it has ended. */
  borrowedFrom: z.array(z.string()),
};

/** A predecessor for which the job still waits; `ok`: the predecessor must complete successfully. */
const predecessor = z.object({
  id: z.string(),
  state: z.enum(JOB_FATES),
  tasks: count,
  ended: count,
  ok: z.boolean(),
});

const result = z.object({
  index: count,
  stage: z.string(),
  state: z.enum(JOB_STATES),
  /** Number of the attempt; 0: no attempt yet. */
  attempt: count,
  /** Returned value; null if the task returned none, as commands do. */
  value: z.unknown(),
  error: z.object({ code: z.string(), message: z.string(), signal: z.string().nullable() }).nullable(),
  exitCode: z.int().nullable(),
  output: z.object({ stdout: z.string().nullable(), stderr: z.string().nullable(), logs: z.string() }),
});

export const job = z.object({
  schema: z.literal('goshawk.job/1'),
  ...summary.shape,
  stages: z.array(
    z.object({
      name: z.string(),
      state: z.enum(STAGE_STATES),
      tasks: count,
      unfinished: count,
      /** Counts of tasks. */
      counts: taskCounts,
      after: z.array(z.string()),
      estimateSeconds: seconds.nullable(),
      /** Command of the first task, truncated if long; null without tasks. */
      command: z.string().nullable(),
      /** Whether another of the first 100 tasks has another command. */
      commandsDiffer: z.boolean(),
      /** Demand of each task. */
      demand: z.record(z.string(), z.number()),
      /** Average run time of the completed tasks. */
      meanRunSeconds: seconds.nullable(),
    }),
  ),
  attempts: z.array(
    z.object({
      task: count,
      attempt: count,
      state: z.string(),
      worker: z.string(),
      /** Names of the GPUs of the attempt, once the attempt has ended. */
      gpus: z.array(z.string()),
      startedAt: time,
      runSeconds: seconds,
      code: z.string().nullable(),
      message: z.string().nullable(),
      exitCode: z.int().nullable(),
      signal: z.string().nullable(),
      ...lending,
    }),
  ),
  /** Whether `attempts` is truncated; `/v1/jobs/{id}/tasks` lists all tasks. */
  attemptsTruncated: z.boolean(),
  attemptCounts: z.object({ total: count, failed: count, lost: count }),
  /** Pilot tasks that determined the class of the job; null: none. */
  sampling: z
    .object({
      pilotTasks: count,
      decidedAt: time.nullable(),
      /** The first hundred pilots. */
      pilots: z.array(z.object({ task: count, state: z.string(), runSeconds: seconds })),
    })
    .nullable(),
  failures: z.array(
    z.object({
      task: count,
      attempts: count,
      kind: z.string(),
      code: z.string(),
      message: z.string(),
      worker: z.string(),
      /** Last lines of stdout and stderr of the task; for the first failures only. */
      printed: z.string().nullable(),
      /** Files on the worker that receive the output instead of the log. */
      stdoutFile: z.string().nullable(),
      stderrFile: z.string().nullable(),
      exitCode: z.int().nullable(),
      signal: z.string().nullable(),
    }),
  ),
  failuresTruncated: z.boolean(),
  timeLimitSeconds: seconds.nullable(),
  priority: z.enum(PRIORITIES),
  /** Whether clients may append tasks to the job. */
  open: z.boolean(),
  meanRunSeconds: seconds.nullable(),
  lostSeconds: seconds,
  after: z.array(predecessor),
  cancelReason: z.string().nullable(),
  /** The submitted job, in the output of `job --spec` only. */
  spec: z.unknown().optional(),
  /** Results, in the output of `wait --results` and `submit --results` only. */
  results: z.array(result).optional(),
});

export const tasks = z.object({
  schema: z.literal('goshawk.tasks/1'),
  job: z.string(),
  tasks: z.array(
    z.object({
      /** Index within the job, as in `GOSHAWK_TASK`. */
      index: count,
      stage: z.string(),
      state: z.enum(JOB_STATES),
      /** Number of the last attempt; 0: none. */
      attempt: count,
      worker: z.string().nullable(),
      exitCode: z.int().nullable(),
      startedAt: time.nullable(),
      endedAt: time.nullable(),
      runSeconds: seconds.nullable(),
      maxRssBytes: count.nullable(),
      error: z.string().nullable(),
      ...lending,
      /** CPUs and bytes of memory in use, if requested; null: unknown, or not running. */
      used: z.record(z.string(), z.number()).nullable().optional(),
    }),
  ),
  /** Number of matching tasks, including tasks that are not listed. */
  total: count,
  truncated: z.boolean(),
  /** `from` of the next page. */
  next: count.nullable(),
});

export const clusterEvents = z.object({
  schema: z.literal('goshawk.events/1'),
  events: z.array(
    z.object({
      number: count,
      at: time,
      kind: z.string(),
      text: z.string(),
      worker: z.string().nullable(),
      scheduler: z.string().nullable(),
      /** Name of the key of the client that requested it; null: nobody did, or the cluster has no keys. */
      by: z.string().nullable(),
    }),
  ),
  /** Pass it as `after` to get the events that follow. */
  next: count,
  /** Time since which events are known. */
  since: time,
});

export const logs = z.object({
  schema: z.literal('goshawk.logs/1'),
  job: z.string(),
  chunks: z.array(
    z.object({ task: count, attempt: count, stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  ),
  /** Whether output is missing, because the response would be too large, or because it no longer exists. */
  truncated: z.boolean(),
  /** Why output no longer exists, as the end of a sentence; null: unknown, or it exists. */
  missing: z.string().nullable(),
  /** Whether attempts before the last one have output, which is left out. */
  earlierAttempts: z.boolean(),
});

/** A line of output, as `goshawk logs --json` prints it. Invalid UTF-8 is in base64. */
export const log = z.object({
  schema: z.literal('goshawk.log/1'),
  job: z.string(),
  task: count,
  attempt: count,
  stream: z.enum(['stdout', 'stderr']),
  text: z.string().optional(),
  base64: z.string().optional(),
});

export const results = z.object({
  schema: z.literal('goshawk.results/2'),
  job: z.string(),
  state: z.enum(JOB_STATES),
  /** Number of tasks of the job. */
  total: count,
  /** Results in order of index, beginning with `from`. */
  results: z.array(result),
  truncated: z.boolean(),
  /** `from` of the next page. */
  next: count.nullable(),
});

/** The explanation of one task. */
const story = z.object({
  task: count,
  stage: z.string(),
  state: z.string(),
  reason: z.enum(WAITING_REASONS).nullable(),
  isPilot: z.boolean(),
  attempts: count,
  worker: z.string().nullable(),
  waitedSeconds: seconds,
  ranSeconds: seconds.nullable(),
  endedSeconds: seconds.nullable(),
  /** Message of the last failure, or why the task is cancelled. */
  error: z.string().nullable(),
  ...lending,
  /** It uses, or used, CPUs of tasks that paused for it. */
  borrows: z.boolean(),
});

/** Central's queue of jobs that wait for workers. */
const line = z.object({
  needs: z.array(
    z.object({
      stage: count,
      kind: z.enum(['short', 'small', 'long', 'large']),
      tasks: count,
      waitedSeconds: seconds,
      ahead: z.object({ jobs: count, tasks: count, workSeconds: seconds }),
      expectedSeconds: seconds.nullable(),
      startsInSeconds: z.object({ p10: seconds, p50: seconds, p90: seconds, waits: count }).nullable(),
      kept: count,
      why: z.string().nullable(),
    }),
  ),
  slots: count,
  freeSlots: count,
  longRunning: count,
  longLimit: count,
  /** CPUs that a typical short task could borrow now; absent: none. */
  lendable: count.optional(),
  unmatched: count,
});

export const why = z.object({
  schema: z.literal('goshawk.why/1'),
  ...summary.shape,
  cutoffSeconds: seconds.nullable(),
  cutoffFrom: z.string().nullable(),
  /** Explanation in one sentence; over HTTP only, because the command prints a full explanation. */
  sentence: z.string().optional(),
  /** Limit that applied to most waiting tasks, over time; over HTTP only. */
  limits: z
    .array(z.object({ from: time, to: time, reason: z.enum(WAITING_REASONS), why: z.string(), tasks: count }))
    .optional(),
  pilots: z.object({ tasks: count, decidedSeconds: seconds.nullable() }).nullable(),
  waiting: z.array(
    z.object({
      stage: z.string(),
      reason: z.enum(WAITING_REASONS),
      tasks: count,
      requires: z.record(z.string(), z.string()).optional(),
      /** Unmet requirements, and a remedy. */
      missing: z.string().optional(),
      waitedSeconds: seconds,
    }),
  ),
  /** Central's queue; null: central does not answer, or does not list the job. */
  line: line.nullable(),
  probes: z.object({
    out: count,
    moved: count,
    workers: z.array(z.object({ worker: z.string(), probes: count })),
  }),
  matches: count,
  placed: z.array(z.object({ task: count, worker: z.string() })),
  /** Waiting times of the tasks that have started. */
  waitSeconds: z.object({ tasks: count, p50: seconds, p90: seconds, max: seconds }).nullable(),
  waited: z.array(
    z.object({ phase: z.enum(WAIT_PHASES), tasks: count, meanSeconds: seconds, maxSeconds: seconds }),
  ),
  lostSeconds: seconds,
  after: z.array(predecessor),
  /** Null: the job has no deadline. */
  deadline: z
    .object({
      /** Latest start that the policy plans for; negative: it has passed; null: unknown, or nothing waits. */
      latestStartInSeconds: z.number().nullable(),
      /** Whether run times leave enough time; null: unknown, or nothing waits. */
      canBeMet: z.boolean().nullable(),
      /**
       * `late`: the job is expected to end after the deadline; `risk`: the interval of its expected end passes it; `fine`: the interval ends
       * before it; `open`: no end is expected yet.
       */
      standing: z.enum(['met', 'missed', 'late', 'risk', 'fine', 'open']),
      /** Follows the word "deadline". */
      sentence: z.string(),
    })
    .nullable(),
  last: story.nullable(),
  task: story.optional(),
});

export const waiting = z.object({
  schema: z.literal('goshawk.waiting/1'),
  waiting: z.array(
    z.object({
      class: jobClass,
      reason: z.enum(WAITING_REASONS),
      tasks: count,
      example: z.string(),
      exampleAgeSeconds: seconds,
      /** Limit of the user or project that delays the tasks. */
      why: z.string().optional(),
    }),
  ),
  /** Central's queue; null: central does not answer. */
  central: line.nullable(),
  silent: z.array(z.string()),
});

const workerShape = {
  name: z.string(),
  state: z.enum(WORKER_STATES),
  quarantine: z.string().nullable(),
  partition: z.enum(['general', 'short']),
  /** Number of CPUs; 0: unlimited. */
  slots: count,
  busy: count,
  /** Number of running long tasks; null: unknown to central. */
  long: count.nullable(),
  queued: count,
  resources: z.record(z.string(), z.number()),
  /** CPUs and bytes of memory that running tasks use; null: unknown. */
  used: z.record(z.string(), z.number()).nullable(),
  attributes: z.record(z.string(), z.unknown()),
  heardSecondsAgo: seconds,
};

export const workers = z.object({
  schema: z.literal('goshawk.workers/1'),
  workers: z.array(z.object(workerShape)),
  total: count,
  truncated: z.boolean(),
  /** `from` of the next page. */
  next: count.nullable(),
  /** Workers lost within the last hour. */
  lost: z.array(
    z.object({
      name: z.string(),
      state: z.literal('lost'),
      address: z.string(),
      cause: z.string(),
      running: count,
      lostSecondsAgo: seconds,
    }),
  ),
  /** Unreachable schedulers. */
  silent: z.array(z.string()),
  warnings: z.array(z.string()),
});

export const worker = z.object({
  schema: z.literal('goshawk.worker/1'),
  ...workerShape,
  state: z.enum(SHOWN_STATES),
  /** Why and when the worker was lost; null: it is in the cluster. The other fields are from before the loss. */
  lost: z
    .object({
      at: time,
      /** Null: central did not report it. */
      cause: z.string().nullable(),
      /** Number of tasks that ran on it, and restart elsewhere; null: unknown. */
      running: count.nullable(),
    })
    .nullable(),
  /** Counters since the start of the worker; null: the worker does not answer. */
  counters: z.record(z.string(), z.unknown()).nullable(),
  /** Running tasks in the sample. More may run, up to `busy`. */
  tasks: z.array(
    z.object({
      job: z.string(),
      name: z.string(),
      user: z.string().nullable(),
      task: count,
      attempt: count,
      startedAt: time,
      demand: z.record(z.string(), z.number()),
      /** CPUs and bytes of memory that the task uses; null: unknown. */
      used: z.record(z.string(), z.number()).nullable(),
    }),
  ),
  /** State changes that the gateway has observed, oldest first. */
  events: z.array(
    z.object({
      at: time,
      state: z.enum([...SHOWN_STATES, 'joined', 'seen']),
      cause: z.string().nullable(),
    }),
  ),
});

export const plan = z.object({
  schema: z.literal('goshawk.plan/1'),
  /** Whether each stage has workers that can run its tasks, and submit accepts the job. */
  canRun: z.boolean(),
  /** Reason why submit refuses the job; null: submit accepts the job. */
  refusal: z.string().nullable(),
  /** Class of the job; null: determined after submission. */
  class: jobClass.nullable(),
  cutoffSeconds: seconds.nullable(),
  cutoffFrom: z.string(),
  estimateSeconds: seconds.nullable(),
  tasks: count,
  stages: z.array(
    z.object({
      name: z.string(),
      tasks: count,
      demand: z.record(z.string(), z.number()),
      requires: z.record(z.string(), z.string()).optional(),
      /** The partition that the job uses; absent: all workers. */
      partition: z.enum(['general', 'short']).optional(),
      /** Number of workers that can run the tasks, out of `workers` that accept tasks. */
      fitting: count,
      workers: count,
    }),
  ),
  slots: count,
  freeSlots: count,
  /** Expected time until the first task starts; null: unknown. */
  startSeconds: seconds.nullable(),
  /** Whether it starts at once although no CPU is free: its first tasks borrow the CPUs of longer ones, which pause. */
  borrows: z.boolean(),
  ahead: z.object({
    jobs: count,
    tasks: count,
    workSeconds: seconds.nullable(),
    examples: z.array(z.object({ id: z.string(), name: z.string(), waiting: count })),
  }),
});

const predicted = {
  /** Time until a waiting task starts, and until the job ends; null: not within the prediction. */
  startSeconds: seconds.nullable(),
  endSeconds: seconds.nullable(),
};

export const jobWhatIf = z.object({
  schema: z.literal('goshawk.job-whatif/1'),
  job: z.string(),
  /** The prediction without a change. */
  now: z.object(predicted),
  changes: z.array(
    z.object({
      change: z.object({
        /** Number of additional workers. */
        workers: z.int().nullable(),
        priority: z.enum(PRIORITIES).nullable(),
        policy: z.string().nullable(),
      }),
      ...predicted,
    }),
  ),
  /** Assumptions of the simulation, one sentence each. */
  assumptions: z.array(z.string()),
});

export const bulk = z.object({
  schema: z.literal('goshawk.bulk/1'),
  action: z.enum(BULK_ACTIONS),
  dryRun: z.boolean(),
  /** `matched`: number of selected jobs; `jobs`: number of these to which the action applies. */
  matched: count,
  jobs: count,
  /** Ids of these jobs after a dry run, for the request that carries it out; otherwise empty. */
  ids: z.array(z.string()),
  /** Tasks of these jobs that will not start (`waiting`), are killed (`running`) or are retried (`again`). */
  tasks: z.object({ waiting: count, running: count, again: count }),
  /**
   * Number of jobs for which the action was refused. `errors` lists the first refusals with their reasons.
   */
  failed: count,
  errors: z.array(z.object({ job: z.string(), message: z.string() })),
  /** Whether more jobs match than one request may change. */
  truncated: z.boolean(),
  silent: z.array(z.string()),
});

export const stream = z.object({
  schema: z.literal('goshawk.stream/1'),
  /** Start of the window. */
  from: time,
  to: time,
  /**
   * Length of a bucket of `busy` and `reserved`: 10 s, or 120 s if the window is older than the observations of this gateway, so that it
   * shows what central recorded. The first bucket contains `from`.
   */
  bucketSeconds: seconds,
  bucketsFrom: time,
  /** Matching workers, by name. */
  workers: z.array(
    z.object({
      name: z.string(),
      slots: count,
      partition: z.enum(['general', 'short']),
      state: z.enum(SHOWN_STATES),
      /** CPUs that running tasks request, in percent of all, at most 100, per bucket; null: unknown; -1: the worker was lost. */
      busy: z.array(z.number().nullable()),
      /** The part of `busy` that `bars` does not show; `busy` itself where `bars` is a sample, because gaps may have been busy. */
      hidden: z.array(z.number().nullable()),
    }),
  ),
  total: count,
  /** Jobs by index. */
  jobs: z.array(z.object({ id: z.string(), name: z.string(), user: z.string().nullable() })),
  states: z.array(z.enum(BAR_STATES)),
  /**
   * Sampled attempts: worker index, job index, task, attempt, state index, start in ms after `from`, duration in ms, CPUs, and the part
   * of the duration in which the attempt was paused, in ms.
   */
  bars: z.array(z.tuple([count, count, count, count, count, z.number(), z.number(), z.number(), z.number()])),
  /** Number of sampled attempts in the window that are left out, shortest first. */
  omitted: count,
  /** Free CPUs of the cluster that are reserved for short tasks, by bucket; null: unknown. */
  reserved: z.array(count.nullable()),
});

export const users = z.object({
  schema: z.literal('goshawk.users/1'),
  /** Unit of fair sharing at central; null: this policy does not enforce shares. */
  sharedBy: z.enum(['job', 'user']).nullable(),
  users: z.array(
    z.object({
      /** Name of the user; null if central does not have it. */
      user: z.string().nullable(),
      /** Number of active jobs. */
      jobs: count,
      running: count,
      /** Waiting tasks, `held` ones included. */
      waiting: count,
      /** Waiting tasks of jobs that are on hold or begin later. */
      held: count,
      /** Null: all jobs of the user are on hold or begin later. */
      weight: z.number().nullable(),
      /** The user's dominant share. */
      share: z.number(),
      /** The user's fair share of the same resource; null: this policy does not enforce shares. */
      fairShare: z.number().nullable(),
      of: z.string().nullable(),
      has: z.record(z.string(), z.number()),
    }),
  ),
  /** Number of active jobs that are left out because their shares are smaller. */
  unlisted: count,
});

/** Sums over attempts that have ended; amounts are requested resources × run time. */
const usageSums = z.object({
  attempts: count,
  completed: count,
  failed: count,
  cancelled: count,
  preempted: count,
  lost: count,
  runHours: z.number(),
  cpuHours: z.number(),
  /** Sum over the attempts that requested memory; null: no attempt did. */
  memoryGibHours: z.number().nullable(),
  /** Run time of the attempts that did not request memory. */
  memoryUnknownHours: z.number(),
  gpuHours: z.number(),
  /** Number of tasks with a known wait before the first attempt, and the mean of these waits. */
  waits: count,
  meanWaitSeconds: seconds.nullable(),
});

export const usage = z.object({
  schema: z.literal('goshawk.usage/1'),
  by: z.array(z.enum(USAGE_GROUPS)),
  /** First and last day, UTC. */
  since: z.iso.date().nullable(),
  until: z.iso.date().nullable(),
  /** Only the fields named in `by` are present; null: unknown or unset. */
  usage: z.array(
    usageSums.extend({
      user: z.string().nullable().optional(),
      project: z.string().nullable().optional(),
      name: z.string().nullable().optional(),
      day: z.iso.date().nullable().optional(),
    }),
  ),
  totals: usageSums,
  total: count,
  truncated: z.boolean(),
  next: count.nullable(),
  /** Schedulers that did not answer. */
  silent: z.array(z.string()),
});

export const drainOrder = z.strictObject({
  /** Time after which running tasks are stopped and restart elsewhere; absent: running tasks may finish. */
  deadlineSeconds: seconds.max(LIMITS.durationMaxMs / 1_000).optional(),
});

export const drained = z.object({
  schema: z.literal('goshawk.drain/1'),
  worker: z.string(),
  state: z.enum(WORKER_STATES),
  running: count,
  /** Seconds until running tasks are stopped; null: running tasks may finish. */
  deadlineSeconds: seconds.nullable(),
});

export const policy = z.object({
  schema: z.literal('goshawk.policy/1'),
  policy: z.string(),
  title: z.string(),
  estimator: z.string(),
  cutoffSeconds: seconds,
  /** Number of completed jobs from which the cutoff is learned; 0: default; null: configured. */
  cutoffJobs: count.nullable(),
  /** Fraction of the CPUs reserved for short tasks: configured, and current. */
  reserve: z.union([z.number(), z.literal('auto')]),
  reserveNow: z.number().nullable(),
  /** Messages since the start of the cluster, except those between workers; null before the first task. */
  messagesPerTask: z.number().nullable(),
  messages: z.record(z.string(), count),
});

export const predictor = z.object({
  schema: z.literal('goshawk.predictor/1'),
  estimators: z.array(estimatorScoreShape),
  silent: z.array(z.string()),
});

export const overview = z.object({
  schema: z.literal('goshawk.overview/1'),
  cluster: z.string(),
  /** Name of the policy; null: central has never answered. */
  policy: z.string().nullable(),
  /** Whether central answers. */
  reachable: z.boolean(),
  workers: z.record(z.enum(SHOWN_STATES), count),
  /** Total and busy slots; null: unknown. A worker without a limit counts as many slots as it runs tasks. */
  slots: count.nullable(),
  busy: count.nullable(),
  /** CPUs that running tasks request; null: unknown. */
  cpusBusy: z.number().nullable(),
  /** Free slots of workers that accept tasks. A task may use several or none, so this is not `slots` − `busy`. */
  free: count.nullable(),
  queued: count.nullable(),
  schedulers: count.nullable(),
  /** Number of unfinished jobs; null: unknown. */
  jobs: count.nullable(),
  /** Schedulers that do not answer. Their jobs are missing in `jobs`, `waiting` and `failedJobs`. */
  silent: z.array(z.string()),
  /** Last reply of central, if central does not answer now. `workers` is from that reply. */
  lastSeen: z
    .object({
      secondsAgo: seconds,
      slots: count,
      busy: count,
      queued: count,
      schedulers: count,
      jobs: count,
    })
    .nullable(),
  /** Null: unknown. */
  waiting: z
    .array(
      z.object({
        class: jobClass,
        reason: z.enum(WAITING_REASONS),
        tasks: count,
        /** The job that has waited longest. */
        example: z.string(),
        exampleAgeSeconds: seconds,
        why: z.string(),
        helps: z.string(),
      }),
    )
    .nullable(),
  /** Number of jobs that failed within the last hour; null: unknown. */
  failedJobs: count.nullable(),
  /** Conditions that need attention. */
  attention: z.array(
    z.object({
      /** Identifies the condition while its texts change. */
      key: z.string(),
      level: z.enum(['error', 'warning']),
      what: z.string(),
      hint: z.string(),
      /** Link to details on the page. */
      link: z.string().nullable(),
      /** When the condition began, the last time, and how often it began within an hour. */
      since: time,
      times: count,
      /** When the condition ended; null: it has not. */
      over: time.nullable(),
      /** Actions that may help: opening a log, retrying a job or raising its priority, draining a worker or ending its quarantine. */
      actions: z.array(
        z.object({
          verb: z.enum(['log', 'retry', 'prioritize', 'drain', 'release']),
          job: z.string().nullable(),
          task: count.nullable(),
          worker: z.string().nullable(),
        }),
      ),
    }),
  ),
});

/** Values of one class of jobs since the previous point. null: no data. */
const classPoint = z.object({
  tasksPerSecond: z.number().nullable(),
  /** Time from a task's eligibility to its binding to a worker. */
  delaySeconds: z.object({ p50: z.number(), p99: z.number() }).nullable(),
  /** Run time of jobs, from acceptance to end. */
  runSeconds: z.object({ p50: z.number(), p90: z.number() }).nullable(),
});

export const history = z.object({
  schema: z.literal('goshawk.history/1'),
  points: z.array(
    z.object({
      /** Seconds since 1970. */
      at: count,
      /** Length of the period before `at` that the rates cover. */
      seconds,
      /** Null: unknown. */
      waiting: count.nullable(),
      busy: count.nullable(),
      slots: count.nullable(),
      /** Amounts in use by resource and user, from central's books; `…`: all other users; null: unknown. */
      use: z.record(z.string(), z.record(z.string(), z.number())).nullable(),
      /** Amounts of workers that accept tasks; null: unknown. */
      capacity: z.record(z.string(), z.number()).nullable(),
      short: classPoint,
      long: classPoint,
    }),
  ),
});

export const error = z.object({
  schema: z.literal('goshawk.error/1'),
  /** Stable code of the error, for programs. */
  code: z.string(),
  /** `message` describes the problem in one line, and `hint` the remedy. */
  message: z.string(),
  hint: z.string(),
});
