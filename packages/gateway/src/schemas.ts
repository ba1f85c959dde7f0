import {
  JOB_FATES,
  JOB_STATES,
  PRIORITIES,
  STAGE_STATES,
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

/** Schemas of replies, from which the OpenAPI document is generated; a test checks real replies against them. */

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

const summary = z.object({
  id: z.string(),
  name: z.string(),
  user: z.string().nullable(),
  class: jobClass,
  classifiedBy: z.string(),
  estimateSeconds: seconds.nullable(),
  state: z.enum(JOB_STATES),
  /** Its user keeps it from starting anything more. */
  held: z.boolean(),
  /** Nothing of it starts before; null once that time has come. */
  beginAt: time.nullable(),
  /** The job of which it retries tasks, under the same numbers. */
  retryOf: z.string().nullable(),
  tasks: taskCounts,
  submittedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  deadlineAt: time.nullable(),
  deadlineMet: z.boolean().nullable(),
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
  /** A likely mistake: no worker has what the job requires. */
  warning: z.string().optional(),
  /** The job, once it has ended: `submit --wait --json`. */
  get ended() {
    return job.optional();
  },
});
/** A job that was held, released, or given another priority. */
export const updated = z.object({
  schema: z.literal('goshawk.update/1'),
  job: z.string(),
  ...summary.shape,
  /** The command adds the priority that it has set. */
  priority: z.enum(PRIORITIES).optional(),
});
export const held = updated.extend({ schema: z.literal('goshawk.hold/1') });
export const released = updated.extend({ schema: z.literal('goshawk.release/1') });
export const retried = jobStateAfter('goshawk.retry/1').extend({
  /** So many tasks run again; 0 where this retry was known already. */
  tasks: count,
  /** Chosen tasks that had completed, and do not run again. */
  completed: count,
});
export const cancelled = jobStateAfter('goshawk.cancel/1').extend({
  /** Counts of selected tasks: `killing` are running and being killed; `ended` had completed or failed before. */
  tasks: z.object({ cancelled: count, killing: count, ended: count }).optional(),
});
export const jobsCancelled = z.object({
  schema: z.literal('goshawk.cancelled/1'),
  jobs: count,
  tasks: z.object({ waiting: count, running: count }),
  /** Schedulers that did not answer: their jobs may go on. */
  silent: z.array(z.string()),
});

export const jobs = z.object({
  schema: z.literal('goshawk.jobs/1'),
  jobs: z.array(summary),
  /** The command adds the bound between short and long jobs, and its origin. */
  cutoffSeconds: seconds.nullable().optional(),
  cutoffFrom: z.string().nullable().optional(),
  total: count,
  truncated: z.boolean(),
  /** Counts by state, independent of the states asked for. */
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

/** A job that the job still waits for; `ok`: it has to complete. */
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
  /** 0: no attempt was made. */
  attempt: count,
  /** Null where the task returned nothing, as commands do. */
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
      /** Null from a scheduler of an older version. */
      counts: taskCounts.nullable(),
      after: z.array(z.string()),
      estimateSeconds: seconds.nullable(),
      /** The command of its first task, truncated if long; null from an older scheduler. */
      command: z.string().nullable(),
      /** The demand of each task. */
      demand: z.record(z.string(), z.number()),
      /** Mean of its tasks that completed. */
      meanRunSeconds: seconds.nullable(),
    }),
  ),
  attempts: z.array(
    z.object({
      task: count,
      attempt: count,
      state: z.string(),
      worker: z.string(),
      /** Names of those that it had, once it has ended. */
      gpus: z.array(z.string()),
      startedAt: time,
      runSeconds: seconds,
      code: z.string().nullable(),
      message: z.string().nullable(),
      exitCode: z.int().nullable(),
      signal: z.string().nullable(),
    }),
  ),
  /** `attempts` leaves some out: `/v1/jobs/{id}/tasks` lists all tasks. */
  attemptsTruncated: z.boolean(),
  attemptCounts: z.object({ total: count, failed: count, lost: count }),
  /** Tasks that ran first to find out the class; null: none did. */
  sampling: z
    .object({
      pilotTasks: count,
      decidedAt: time.nullable(),
      /** The first hundred. */
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
      /** The last lines of its stdout and stderr; of the first failures only. */
      printed: z.string().nullable(),
      /** Files of its worker that its output went to, in place of the log. */
      stdoutFile: z.string().nullable(),
      stderrFile: z.string().nullable(),
      exitCode: z.int().nullable(),
      signal: z.string().nullable(),
    }),
  ),
  failuresTruncated: z.boolean(),
  timeLimitSeconds: seconds.nullable(),
  priority: z.enum(PRIORITIES),
  /** Clients append tasks to it. */
  open: z.boolean(),
  meanRunSeconds: seconds.nullable(),
  lostSeconds: seconds,
  after: z.array(predecessor),
  cancelReason: z.string().nullable(),
  /** `job --spec`: the job as it was submitted. */
  spec: z.unknown().optional(),
  /** `wait --results` and `submit --results`. */
  results: z.array(result).optional(),
});

export const tasks = z.object({
  schema: z.literal('goshawk.tasks/1'),
  job: z.string(),
  tasks: z.array(
    z.object({
      /** In the job, as in `GOSHAWK_TASK`. */
      index: count,
      stage: z.string(),
      state: z.enum(JOB_STATES),
      /** Number of its last attempt; 0: it had none. */
      attempt: count,
      worker: z.string().nullable(),
      exitCode: z.int().nullable(),
      startedAt: time.nullable(),
      endedAt: time.nullable(),
      runSeconds: seconds.nullable(),
      maxRssBytes: count.nullable(),
      error: z.string().nullable(),
    }),
  ),
  /** That match the filters, listed or not. */
  total: count,
  truncated: z.boolean(),
  /** `from` of the next page. */
  next: count.nullable(),
});

export const logs = z.object({
  schema: z.literal('goshawk.logs/1'),
  job: z.string(),
  chunks: z.array(
    z.object({ task: count, attempt: count, stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  ),
  /** There was more before, which is too much for an answer, or which the scheduler no longer has. */
  truncated: z.boolean(),
});

/** A line of output, as `goshawk logs --json` prints it; what is no UTF-8 comes as base64. */
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
  /** Tasks of the job. */
  total: count,
  /** By index, from `from` on. */
  results: z.array(result),
  truncated: z.boolean(),
  /** `from` of the next page. */
  next: count.nullable(),
});

/** A task of a job that is explained. */
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
});

/** The jobs waiting for workers at central. */
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
  unmatched: count,
});

export const why = z.object({
  schema: z.literal('goshawk.why/1'),
  ...summary.shape,
  cutoffSeconds: seconds.nullable(),
  cutoffFrom: z.string().nullable(),
  /** Over HTTP alone: the command prints a page. */
  sentence: z.string().optional(),
  /** Over HTTP alone: what held back most waiting tasks, from one look of the gateway to another. */
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
      /** Requirements that no worker meets, and what would help. */
      missing: z.string().optional(),
      waitedSeconds: seconds,
    }),
  ),
  /** Null: central does not answer, or does not know the job. */
  line: line.nullable(),
  probes: z.object({
    out: count,
    moved: count,
    workers: z.array(z.object({ worker: z.string(), probes: count })),
  }),
  matches: count,
  placed: z.array(z.object({ task: count, worker: z.string() })),
  /** How long the tasks that have started had waited. */
  waitSeconds: z.object({ tasks: count, p50: seconds, p90: seconds, max: seconds }).nullable(),
  waited: z.array(
    z.object({ phase: z.enum(WAIT_PHASES), tasks: count, meanSeconds: seconds, maxSeconds: seconds }),
  ),
  lostSeconds: seconds,
  after: z.array(predecessor),
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
    }),
  ),
  /** Null: central does not answer. */
  central: line.nullable(),
  silent: z.array(z.string()),
});

const workerShape = {
  name: z.string(),
  state: z.enum(WORKER_STATES),
  quarantine: z.string().nullable(),
  partition: z.enum(['general', 'short']),
  /** 0: no fixed number. */
  slots: count,
  busy: count,
  /** Long tasks among them; null where central does not know. */
  long: count.nullable(),
  queued: count,
  resources: z.record(z.string(), z.number()),
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
  /** Within the last hour. */
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
  /** Schedulers that are away. */
  silent: z.array(z.string()),
  warnings: z.array(z.string()),
});

export const worker = z.object({
  schema: z.literal('goshawk.worker/1'),
  ...workerShape,
  /** Counters since the worker's start; null if it does not respond. */
  counters: z.record(z.string(), z.unknown()).nullable(),
  /** Running tasks that a sample of the jobs has shown; there may be more, up to `busy`. */
  tasks: z.array(
    z.object({
      job: z.string(),
      name: z.string(),
      user: z.string().nullable(),
      task: count,
      attempt: count,
      startedAt: time,
      demand: z.record(z.string(), z.number()),
    }),
  ),
  /** Changes of its state that the gateway has seen, oldest first. */
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
  /** Each stage has workers that could run its tasks. */
  canRun: z.boolean(),
  /** Null: the cluster finds out once it has the job. */
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
      /** Workers that could run its tasks, of `workers` that accept tasks. */
      fitting: count,
      workers: count,
    }),
  ),
  slots: count,
  freeSlots: count,
  /** Expected time until the first task starts; null: not known. */
  startSeconds: seconds.nullable(),
  ahead: z.object({
    jobs: count,
    tasks: count,
    workSeconds: seconds.nullable(),
    examples: z.array(z.object({ id: z.string(), name: z.string(), waiting: count })),
  }),
});

export const bulk = z.object({
  schema: z.literal('goshawk.bulk/1'),
  action: z.enum(BULK_ACTIONS),
  dryRun: z.boolean(),
  /** Jobs that were meant, and those of them that the action applies to. */
  matched: count,
  jobs: count,
  /** Tasks of those: that will not start, are killed, or run again. */
  tasks: z.object({ waiting: count, running: count, again: count }),
  /** Jobs that the action was refused for, the first ones with the reason. */
  failed: count,
  errors: z.array(z.object({ job: z.string(), message: z.string() })),
  /** More match than one request may change. */
  truncated: z.boolean(),
  silent: z.array(z.string()),
});

export const stream = z.object({
  schema: z.literal('goshawk.stream/1'),
  /** The window. */
  from: time,
  to: time,
  /** Length of a bucket of `busy` and `reserved`; the first one has `from` in it. */
  bucketSeconds: seconds,
  bucketsFrom: time,
  /** Workers by name, of those that match. */
  workers: z.array(
    z.object({
      name: z.string(),
      slots: count,
      partition: z.enum(['general', 'short']),
      state: z.enum(SHOWN_STATES),
      /** Busy slots in percent by bucket; null: unknown; -1: the worker was lost. */
      busy: z.array(z.number().nullable()),
    }),
  ),
  total: count,
  /** Names of jobs by index. */
  jobs: z.array(z.object({ id: z.string(), name: z.string(), user: z.string().nullable() })),
  states: z.array(z.enum(BAR_STATES)),
  /** Sampled attempts: index of the worker, of the job, task, attempt, index of the state, ms from `from`, ms it ran. */
  bars: z.array(z.tuple([count, count, count, count, count, z.number(), z.number()])),
  /** Sampled attempts in the window that are left out: the shortest. */
  omitted: count,
  /** Free slots of the cluster that long tasks may not take, by bucket; null: unknown. */
  reserved: z.array(count.nullable()),
});

export const users = z.object({
  schema: z.literal('goshawk.users/1'),
  /** The unit that central shares the cluster between; null: this policy does not enforce shares. */
  sharedBy: z.enum(['job', 'user']).nullable(),
  users: z.array(
    z.object({
      /** Null where central does not know it. */
      user: z.string().nullable(),
      /** Active ones. */
      jobs: count,
      running: count,
      waiting: count,
      /** The user's dominant share. */
      share: z.number(),
      of: z.string().nullable(),
      has: z.record(z.string(), z.number()),
    }),
  ),
  /** Active jobs of smaller shares that are not counted here. */
  unlisted: count,
});

export const drained = z.object({
  schema: z.literal('goshawk.drain/1'),
  worker: z.string(),
  state: z.enum(WORKER_STATES),
  running: count,
});

export const policy = z.object({
  schema: z.literal('goshawk.policy/1'),
  policy: z.string(),
  title: z.string(),
  estimator: z.string(),
  cutoffSeconds: seconds,
  /** Completed jobs that it was learned from; 0: it is the default as yet; null: it was said. */
  cutoffJobs: count.nullable(),
  /** Fraction of the slots that long tasks leave to short ones: as it was set, and as it is now. */
  reserve: z.union([z.number(), z.literal('auto')]),
  reserveNow: z.number().nullable(),
  /** Between everybody since the cluster was started, those between workers left out; null before the first task. */
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
  /** Null: never seen. */
  policy: z.string().nullable(),
  /** Central answers. */
  reachable: z.boolean(),
  workers: z.record(z.enum(SHOWN_STATES), count),
  /** Slots of workers, and those in use; workers without a fixed number count what they run. Null: unknown. */
  slots: count.nullable(),
  busy: count.nullable(),
  queued: count.nullable(),
  schedulers: count.nullable(),
  /** Jobs that have not ended. Null: unknown. */
  jobs: count.nullable(),
  /** The last answer of central, while it does not answer; `workers` is of that time then. */
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
  /** Jobs that failed within the last hour; null: unknown. */
  failedJobs: count.nullable(),
  /** Conditions that need attention. */
  attention: z.array(
    z.object({
      level: z.enum(['error', 'warning']),
      what: z.string(),
      hint: z.string(),
      /** Link to details on the page. */
      link: z.string().nullable(),
    }),
  ),
});

/** One class between two points. Null: no data. */
const classPoint = z.object({
  tasksPerSecond: z.number(),
  /** The time between a task being eligible and being bound to a worker. */
  delaySeconds: z.object({ p50: z.number(), p99: z.number() }).nullable(),
  /** Jobs, from acceptance to end. */
  runSeconds: z.object({ p50: z.number(), p90: z.number() }).nullable(),
});

export const history = z.object({
  schema: z.literal('goshawk.history/1'),
  points: z.array(
    z.object({
      /** Seconds since 1970. */
      at: count,
      /** Null: unknown. */
      waiting: count.nullable(),
      busy: count.nullable(),
      slots: count.nullable(),
      short: classPoint,
      long: classPoint,
    }),
  ),
});

export const error = z.object({
  schema: z.literal('goshawk.error/1'),
  /** For programs. */
  code: z.string(),
  /** One line that says what is wrong, and one that says what to do. */
  message: z.string(),
  hint: z.string(),
});
