import { drainTable, planTable, usageTable, workersTable, workerTable } from '@goshawk/client';
import {
  eventTable,
  JOB_STATES,
  jobsTable,
  jobTable,
  LIMITS,
  PRIORITIES,
  resultKind,
  summaryTable,
  taskTable,
  WAITING_REASONS,
  waitingTable,
  whyTable,
} from '@goshawk/core';
import { predictorShape } from '@goshawk/predictor';
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

export const session = z.object({
  schema: z.literal('goshawk.session/1'),
  cluster: z.string(),
  role: z.enum(ROLES).describe('Role of the caller.'),
});

/** The state of a job after an action on it. */
function jobStateAfter<const S extends string>(schema: S) {
  return z.object({ schema: z.literal(schema), job: z.string(), state: z.enum(JOB_STATES) });
}

export const submitted = jobStateAfter('goshawk.submit/1').extend({
  warning: z
    .string()
    .optional()
    .describe('Warning about a likely mistake: no worker meets the requirements of the job.'),
  skipped: z
    .object({ completed: count, active: count, existing: count })
    .optional()
    .describe('Numbers of tasks that `submit --resume` and `--skip-existing` left out.'),
  ended: jobTable
    .schema()
    .optional()
    .describe('The ended job, in the output of `submit --wait --json` only.'),
});
/** A job after a change of it. */
function changedJob<const S extends string>(schema: S) {
  return z.object({ schema: z.literal(schema), job: z.string(), ...summaryTable.object().shape });
}

export const held = changedJob('goshawk.hold/1');
export const released = changedJob('goshawk.release/1');
export const updated = changedJob('goshawk.update/1').extend({
  priority: z.enum(PRIORITIES).describe('The new priority.'),
});
export const retried = jobStateAfter('goshawk.retry/1').extend({
  tasks: count.describe('Number of retried tasks; 0 if this retry was already known.'),
  completed: count.describe('Number of selected tasks that had completed and are not retried.'),
});
export const appended = z.object({
  schema: z.literal('goshawk.append/1'),
  job: z.string(),
  state: z.enum(JOB_STATES),
  tasks: count.describe('Number of tasks that the job has now.'),
  digest: z.string().describe('Digest of the last request that appended tasks.'),
  closed: z.boolean(),
});
export const cancelled = jobStateAfter('goshawk.cancel/1').extend({
  tasks: z
    .object({ cancelled: count, killing: count, ended: count })
    .optional()
    .describe(
      'Counts of selected tasks: `killing` are running and being killed; `ended` had completed or failed before.',
    ),
});
export const jobsCancelled = z.object({
  schema: z.literal('goshawk.cancelled/1'),
  jobs: count,
  tasks: z.object({ waiting: count, running: count }),
  silent: z.array(z.string()).describe('Schedulers that did not answer, so their jobs may continue.'),
});

export const jobs = jobsTable.object();
export const job = jobTable.object();

export const tasks = z.object({
  schema: z.literal('goshawk.tasks/1'),
  job: z.string(),
  tasks: z.array(
    taskTable.object().extend({
      used: z
        .record(z.string(), z.number())
        .nullable()
        .optional()
        .describe('CPUs and bytes of memory in use, if requested; null: unknown, or not running.'),
    }),
  ),
  total: count.describe('Number of matching tasks, including tasks that are not listed.'),
  truncated: z.boolean(),
  next: count.nullable().describe('`from` of the next page.'),
});

export const clusterEvents = z.object({
  schema: z.literal('goshawk.events/1'),
  events: z.array(eventTable.object()),
  next: count.describe('Pass it as `after` to get the events that follow.'),
  since: time.describe('Time since which events are known.'),
});

export const logs = z.object({
  schema: z.literal('goshawk.logs/1'),
  job: z.string(),
  chunks: z.array(
    z.object({
      task: count,
      attempt: count,
      stream: z.enum(['stdout', 'stderr']),
      at: time.describe('When it arrived at the scheduler.'),
      text: z.string(),
    }),
  ),
  truncated: z
    .boolean()
    .describe(
      'Whether output is missing, because the response would be too large, or because it no longer exists.',
    ),
  missing: z
    .string()
    .nullable()
    .describe('Why output no longer exists, as the end of a sentence; null: unknown, or it exists.'),
  earlierAttempts: z
    .boolean()
    .describe('Whether attempts before the last one have output, which is left out.'),
});

/** A line of output, as `goshawk logs --json` prints it. Invalid UTF-8 is in base64. */
export const log = z.object({
  schema: z.literal('goshawk.log/1'),
  job: z.string(),
  task: count,
  attempt: count,
  stream: z.enum(['stdout', 'stderr']),
  at: time
    .nullable()
    .describe('When the line began to arrive at the scheduler; null: unknown, because it is from a file.'),
  text: z.string().optional(),
  base64: z.string().optional(),
});

export const results = z.object({
  schema: z.literal('goshawk.results/2'),
  job: z.string(),
  state: z.enum(JOB_STATES),
  total: count.describe('Number of tasks of the job.'),
  results: z.array(resultKind.schema()).describe('Results in order of index, beginning with `from`.'),
  truncated: z.boolean(),
  next: count.nullable().describe('`from` of the next page.'),
});

export const why = whyTable.object();
export const waiting = waitingTable.object();
export const workers = workersTable.object();

export const worker = z.object({
  schema: z.literal('goshawk.worker/1'),
  ...workerTable.object().shape,
  state: z.enum(SHOWN_STATES),
  lost: z
    .object({
      at: time,
      cause: z.string().nullable().describe('Null: central did not report it.'),
      running: count
        .nullable()
        .describe('Number of tasks that ran on it, and restart elsewhere; null: unknown.'),
    })
    .nullable()
    .describe(
      'Why and when the worker was lost; null: it is in the cluster. The other fields are from before the loss.',
    ),
  counters: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('Counters since the start of the worker; null: the worker does not answer.'),
  tasks: z
    .array(
      z.object({
        job: z.string(),
        name: z.string(),
        user: z.string().nullable(),
        task: count,
        attempt: count,
        startedAt: time,
        demand: z.record(z.string(), z.number()),
        used: z
          .record(z.string(), z.number())
          .nullable()
          .describe('CPUs and bytes of memory that the task uses; null: unknown.'),
      }),
    )
    .describe('Running tasks in the sample. More may run, up to `busy`.'),
  events: z
    .array(
      z.object({
        at: time,
        state: z.enum([...SHOWN_STATES, 'joined', 'seen']),
        cause: z.string().nullable(),
      }),
    )
    .describe('State changes that the gateway has observed, oldest first.'),
});

export const plan = planTable.object();

const predicted = {
  startSeconds: seconds
    .nullable()
    .describe('Time until a waiting task starts, and until the job ends; null: not within the prediction.'),
  endSeconds: seconds.nullable(),
};

export const jobWhatIf = z.object({
  schema: z.literal('goshawk.job-whatif/1'),
  job: z.string(),
  now: z.object(predicted).describe('The prediction without a change.'),
  changes: z.array(
    z.object({
      change: z.object({
        workers: z.int().nullable().describe('Number of additional workers.'),
        priority: z.enum(PRIORITIES).nullable(),
        policy: z.string().nullable(),
      }),
      ...predicted,
    }),
  ),
  assumptions: z.array(z.string()).describe('Assumptions of the simulation, one sentence each.'),
});

export const bulk = z.object({
  schema: z.literal('goshawk.bulk/1'),
  action: z.enum(BULK_ACTIONS),
  dryRun: z.boolean(),
  matched: count.describe(
    '`matched`: number of selected jobs; `jobs`: number of these to which the action applies.',
  ),
  jobs: count,
  ids: z
    .array(z.string())
    .describe('Ids of these jobs after a dry run, for the request that carries it out; otherwise empty.'),
  tasks: z
    .object({ waiting: count, running: count, again: count })
    .describe(
      'Tasks of these jobs that will not start (`waiting`), are killed (`running`) or are retried (`again`).',
    ),
  failed: count.describe(
    'Number of jobs for which the action was refused. `errors` lists the first refusals with their reasons.',
  ),
  errors: z.array(z.object({ job: z.string(), message: z.string() })),
  truncated: z.boolean().describe('Whether more jobs match than one request may change.'),
  silent: z.array(z.string()),
});

export const stream = z.object({
  schema: z.literal('goshawk.stream/1'),
  from: time.describe('Start of the window.'),
  to: time,
  bucketSeconds: seconds.describe(
    'Length of a bucket of `busy` and `reserved`: 10 s, or 120 s if the window is older than the observations of this gateway, so that it shows what central recorded. The first bucket contains `from`.',
  ),
  bucketsFrom: time,
  workers: z
    .array(
      z.object({
        name: z.string(),
        slots: count,
        partition: z.enum(['general', 'short']),
        state: z.enum(SHOWN_STATES),
        busy: z
          .array(z.number().nullable())
          .describe(
            'CPUs that running tasks request, in percent of all, at most 100, per bucket; null: unknown; -1: the worker was lost.',
          ),
        hidden: z
          .array(z.number().nullable())
          .describe(
            'The part of `busy` that `bars` does not show; `busy` itself where `bars` is a sample, because gaps may have been busy.',
          ),
      }),
    )
    .describe('Matching workers, by name.'),
  total: count,
  jobs: z
    .array(z.object({ id: z.string(), name: z.string(), user: z.string().nullable() }))
    .describe('Jobs by index.'),
  states: z.array(z.enum(BAR_STATES)),
  bars: z
    .array(z.tuple([count, count, count, count, count, z.number(), z.number(), z.number(), z.number()]))
    .describe(
      'Sampled attempts: worker index, job index, task, attempt, state index, start in ms after `from`, duration in ms, CPUs, and the part of the duration in which the attempt was paused, in ms.',
    ),
  omitted: count.describe('Number of sampled attempts in the window that are left out, shortest first.'),
  reserved: z
    .array(count.nullable())
    .describe('Free CPUs of the cluster that are reserved for short tasks, by bucket; null: unknown.'),
});

export const users = z.object({
  schema: z.literal('goshawk.users/1'),
  sharedBy: z
    .enum(['job', 'user'])
    .nullable()
    .describe('Unit of fair sharing at central; null: this policy does not enforce shares.'),
  users: z.array(
    z.object({
      user: z.string().nullable().describe('Name of the user; null if central does not have it.'),
      jobs: count.describe('Number of active jobs.'),
      running: count,
      waiting: count.describe('Waiting tasks, `held` ones included.'),
      held: count.describe('Waiting tasks of jobs that are on hold or begin later.'),
      weight: z.number().nullable().describe('Null: all jobs of the user are on hold or begin later.'),
      share: z.number().describe("The user's dominant share."),
      fairShare: z
        .number()
        .nullable()
        .describe("The user's fair share of the same resource; null: this policy does not enforce shares."),
      of: z.string().nullable(),
      has: z.record(z.string(), z.number()),
    }),
  ),
  unlisted: count.describe('Number of active jobs that are left out because their shares are smaller.'),
});

export const usage = usageTable.object();

export const drainOrder = z.strictObject({
  deadlineSeconds: seconds
    .max(LIMITS.durationMaxMs / 1_000)
    .optional()
    .describe(
      'Time after which running tasks are stopped and restart elsewhere; absent: running tasks may finish.',
    ),
});

export const drained = drainTable.object();

export const policy = z.object({
  schema: z.literal('goshawk.policy/1'),
  policy: z.string(),
  title: z.string(),
  estimator: z.string(),
  cutoffSeconds: seconds,
  cutoffJobs: count
    .nullable()
    .describe('Number of completed jobs from which the cutoff is learned; 0: default; null: configured.'),
  reserve: z
    .union([z.number(), z.literal('auto')])
    .describe('Fraction of the CPUs reserved for short tasks: configured, and current.'),
  reserveNow: z.number().nullable(),
  messagesPerTask: z
    .number()
    .nullable()
    .describe(
      'Messages since the start of the cluster, except those between workers; null before the first task.',
    ),
  messages: z.record(z.string(), count),
});

export const predictor = predictorShape;

export const overview = z.object({
  schema: z.literal('goshawk.overview/1'),
  cluster: z.string(),
  policy: z.string().nullable().describe('Name of the policy; null: central has never answered.'),
  reachable: z.boolean().describe('Whether central answers.'),
  workers: z.record(z.enum(SHOWN_STATES), count),
  slots: count
    .nullable()
    .describe(
      'Total and busy slots; null: unknown. A worker without a limit counts as many slots as it runs tasks.',
    ),
  busy: count.nullable(),
  cpusBusy: z.number().nullable().describe('CPUs that running tasks request; null: unknown.'),
  free: count
    .nullable()
    .describe(
      'Free slots of workers that accept tasks. A task may use several or none, so this is not `slots` − `busy`.',
    ),
  queued: count.nullable(),
  schedulers: count.nullable(),
  jobs: count.nullable().describe('Number of unfinished jobs; null: unknown.'),
  silent: z
    .array(z.string())
    .describe('Schedulers that do not answer. Their jobs are missing in `jobs`, `waiting` and `failedJobs`.'),
  lastSeen: z
    .object({
      secondsAgo: seconds,
      slots: count,
      busy: count,
      queued: count,
      schedulers: count,
      jobs: count,
    })
    .nullable()
    .describe('Last reply of central, if central does not answer now. `workers` is from that reply.'),
  waiting: z
    .array(
      z.object({
        class: jobClass,
        reason: z.enum(WAITING_REASONS),
        tasks: count,
        example: z.string().describe('The job that has waited longest.'),
        exampleAgeSeconds: seconds,
        why: z.string(),
        helps: z.string(),
      }),
    )
    .nullable()
    .describe('Null: unknown.'),
  failedJobs: count.nullable().describe('Number of jobs that failed within the last hour; null: unknown.'),
  attention: z
    .array(
      z.object({
        key: z.string().describe('Identifies the condition while its texts change.'),
        level: z.enum(['error', 'warning']),
        what: z.string(),
        hint: z.string(),
        link: z.string().nullable().describe('Link to details on the page.'),
        since: time.describe(
          'When the condition began, the last time, and how often it began within an hour.',
        ),
        times: count,
        over: time.nullable().describe('When the condition ended; null: it has not.'),
        actions: z
          .array(
            z.object({
              verb: z.enum(['log', 'retry', 'prioritize', 'drain', 'release', 'remove']),
              job: z.string().nullable(),
              task: count.nullable(),
              worker: z.string().nullable(),
            }),
          )
          .describe(
            'Actions that may help: opening a log, retrying a job or raising its priority, draining a worker or ending its quarantine.',
          ),
      }),
    )
    .describe('Conditions that need attention.'),
});

/** Values of one class of jobs since the previous point. null: no data. */
const classPoint = z.object({
  tasksPerSecond: z.number().nullable(),
  delaySeconds: z
    .object({ p50: z.number(), p99: z.number() })
    .nullable()
    .describe("Time from a task's eligibility to its binding to a worker."),
  runSeconds: z
    .object({ p50: z.number(), p90: z.number() })
    .nullable()
    .describe('Run time of jobs, from acceptance to end.'),
});

export const history = z.object({
  schema: z.literal('goshawk.history/1'),
  points: z.array(
    z.object({
      at: count.describe('Seconds since 1970.'),
      seconds: seconds.describe('Length of the period before `at` that the rates cover.'),
      waiting: count.nullable().describe('Null: unknown.'),
      busy: count.nullable(),
      slots: count.nullable(),
      use: z
        .record(z.string(), z.record(z.string(), z.number()))
        .nullable()
        .describe(
          "Amounts in use by resource and user, from central's books; `…`: all other users; null: unknown.",
        ),
      capacity: z
        .record(z.string(), z.number())
        .nullable()
        .describe('Amounts of workers that accept tasks; null: unknown.'),
      short: classPoint,
      long: classPoint,
    }),
  ),
});

export const error = z.object({
  schema: z.literal('goshawk.error/1'),
  code: z.string().describe('Stable code of the error, for programs.'),
  message: z.string().describe('`message` describes the problem in one line, and `hint` the remedy.'),
  hint: z.string(),
});
