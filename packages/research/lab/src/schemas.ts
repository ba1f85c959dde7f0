import {
  givenSchemas,
  LIMITS,
  MESSAGE_TYPES,
  type OutputsOf,
  PRIORITIES,
  type PublishedSchemas,
  publish,
} from '@goshawk/core';
import type { FigureResult } from '@goshawk/papers/figures';
import { estimatorScoreShape } from '@goshawk/predictor';
import type { Comparison } from '@goshawk/report';
import { z } from 'zod';

/** These shapes are shared by the laboratory's outputs and files. */
const count = z.int().nonnegative();
const seconds = z.number().nonnegative();
const maybe = z.number().nullable();
const share = z.number();

const byClass = <T extends z.ZodType>(each: T) => z.object({ short: each, long: each });
const untruncated = { total: count, truncated: z.literal(false), next: z.null() };

const tallied = z.array(z.object({ code: z.string(), what: z.string(), count }));

const distribution = z.object({ count, mean: maybe, p50: maybe, p90: maybe, p99: maybe, max: maybe });
const runTimes = byClass(distribution).extend({ all: distribution });

const workload = z.object({
  name: z.string(),
  sha256: z.string(),
  jobs: count,
  tasks: count,
  taskSeconds: seconds,
  spanSeconds: seconds,
  tallied: tallied.exactOptional(),
});

const levels = z.object({ mean: maybe, p50: maybe, max: maybe });
const columns = z.array(z.number());

const predictor = z.object({
  jobsSampled: count,
  pilotTasks: count,
  meanAbsoluteErrorPercent: maybe,
  medianAbsoluteErrorPercent: maybe,
  p90AbsoluteErrorPercent: maybe,
  misclassifiedPercent: maybe,
  takenForShortPercent: z.number(),
  takenForLongPercent: z.number(),
  misclassifiedJobsPercent: maybe,
  decisionSeconds: distribution.nullable(),
});

const indexSpread = z.object({ mean: z.number(), min: z.number(), windows: count }).nullable();
const cycles = z.object({ count, p50: z.number(), p99: z.number(), max: z.number() });

/** Results of one policy under one seed; a figure has them without `series`. */
const run = z.object({
  policy: z.string(),
  seed: z.number(),
  options: z
    .record(z.string(), z.json())
    .describe('Every setting that shaped the run, by the names of the flags.'),
  jobs: z.object({ submitted: count, completed: count, failed: count }),
  tasks: z.object({ submitted: count, completed: count, attempts: count }),
  runtimeSeconds: runTimes,
  queueingSeconds: runTimes,
  utilisation: levels.extend({ whileSubmitting: levels, snapshots: count, intervalSeconds: seconds }),
  timeParts: byClass(
    z
      .object({
        queueing: z.number(),
        binding: z.number().exactOptional(),
        running: z.number(),
        reporting: z.number().exactOptional(),
      })
      .nullable(),
  ),
  messages: z.object({ total: count, byType: z.record(z.string(), count) }),
  steals: z.object({ attempts: count, successes: count, probesMoved: count }),
  predictor: predictor.nullable(),
  shadow: z.array(estimatorScoreShape).exactOptional(),
  deadlines: z
    .object({
      jobs: count,
      missed: count,
      goodputSlotSeconds: z.object({ deadline: seconds, bestEffort: seconds }),
      bestEffortJobs: count,
      bestEffortCompleted: count,
      bestEffortSeconds: maybe,
    })
    .exactOptional(),
  planning: z
    .object({
      counts: z.record(z.string(), count),
      cycleSeconds: z
        .object({ formulate: cycles, solve: cycles, extract: cycles, cycle: cycles })
        .exactOptional(),
      solver: z.string().exactOptional(),
    })
    .exactOptional(),
  staged: z
    .object({
      jobs: count,
      dagSeconds: distribution,
      makespanSeconds: seconds,
      utilisation: z.record(z.string(), z.number()),
      fairness: z.object({ windowSeconds: seconds, raw: indexSpread, byNeed: indexSpread }),
      againstDrf: z.object({ slowdown: distribution, slower: share, muchSlower: share }).exactOptional(),
    })
    .exactOptional(),
  events: count.nullable(),
  wallSeconds: seconds,
  eventsPerSecond: maybe,
  peakRssBytes: count.nullable(),
});

/** Columns of equal length. */
const series = z.object({
  submittedSeconds: seconds,
  settledSeconds: seconds,
  seconds: columns,
  busySlots: columns,
  waitingTasks: byClass(columns),
  jobsUnderway: byClass(columns),
  counted: z
    .object({
      seconds: columns,
      stealAttempts: columns,
      stealSuccesses: columns,
      probesMoved: columns,
      queuedEntries: z.array(maybe),
    })
    .nullable(),
});

const statistics = <T extends z.ZodType>(each: T) => z.object({ p50: each, p90: each, mean: each });
const bounds = z.tuple([z.number(), z.number()]).nullable();
const spread = byClass(statistics(bounds)).exactOptional();

const comparison = z.object({
  schema: z.literal('goshawk.comparison/1'),
  workload,
  cluster: z.object({
    workers: count,
    slots: count.describe('Per worker; 0: no fixed number.'),
    schedulers: count,
    mode: z.enum(['simulated', 'live']),
  }),
  runs: z.array(run.extend({ series })),
  ratios: z.array(
    byClass(statistics(maybe)).extend({
      policy: z.string(),
      baseline: z.string(),
      spread,
      interval: spread,
    }),
  ),
  intervals: z
    .object({ level: z.number(), resamples: count, over: z.enum(['jobs', 'jobs and seeds']) })
    .exactOptional(),
}) satisfies z.ZodType<Comparison>;

const values = z.array(maybe);
const named = z.record(z.string(), z.array(z.number()));
const paper = z.object({ name: z.string(), reference: z.string(), section: z.string() });
const modes = z.enum(['simulated', 'live', 'predicted', 'planned', 'modelled', 'staged']);

/** Whether a claim states an effect of one policy over another, that they are alike, or a value. */
const claimKind = z.enum(['effect', 'alike', 'value']);

const verdict = z.enum(['holds', 'in direction', 'does not hold', 'not confirmed', 'not judged']);

const figure = z.object({
  schema: z.literal('goshawk.figure/1'),
  id: z.string(),
  title: z.string(),
  about: z.string(),
  paper: paper.extend({ jobs: count.nullable() }),
  mode: modes,
  workload,
  seeds: z.array(z.number()),
  workers: count.nullable().describe('Null: runs differ in it.'),
  axis: z.object({
    name: z.string(),
    spacing: z.enum(['linear', 'log', 'even']),
    places: z.array(
      z.object({
        x: z.number(),
        label: z.string(),
        paired: z
          .record(
            z.string(),
            byClass(z.object({ improved: share, improvedByHalf: share, betterOrEqual: share }).nullable()),
          )
          .exactOptional(),
      }),
    ),
  }),
  panels: z.array(
    z.object({
      kind: z.enum(['lines', 'bars', 'table', 'distribution', 'course']),
      title: z.string(),
      axisName: z.string(),
      series: z.array(
        z.object({
          name: z.string(),
          unit: z.enum(['ratio', 'index', 'share', 'seconds', 'hours', 'tasks']),
          values,
          paper: values.exactOptional(),
          isAddition: z.literal(true).exactOptional(),
          bySeed: z.array(values).exactOptional(),
        }),
      ),
      percentiles: named.exactOptional(),
      percentilesOf: z.literal('errors').exactOptional(),
      courses: named.exactOptional(),
    }),
  ),
  claims: z.array(
    z.object({ section: z.string(), text: z.string(), kind: claimKind, verdict, ours: z.string() }),
  ),
  verdicts: z.record(verdict, count),
  runs: z.array(z.object({ x: z.number(), variant: z.string(), busyWhileSubmitting: levels, run })),
  trials: z.array(
    z.object({
      x: z.number(),
      label: z.string(),
      variant: z.string(),
      seed: count,
      workload: z.object({ name: z.string(), sha256: z.string() }),
      options: z.record(z.string(), z.json()),
      results: z.looseObject({}),
    }),
  ),
  command: z.string(),
  generator: z.string(),
}) satisfies z.ZodType<FigureResult>;

const figures = z.object({
  schema: z.literal('goshawk.figures/1'),
  figures: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      about: z.string(),
      paper,
      mode: modes,
      workload: z.object({ generator: z.string(), jobs: count, paperJobs: count.nullable() }),
      runs: count,
      claims: z.array(z.object({ section: z.string(), text: z.string() })),
    }),
  ),
  ...untruncated,
});

const generators = z.object({
  schema: z.literal('goshawk.generators/1'),
  generators: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      options: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
          default: z.union([z.string(), z.number(), z.boolean()]),
        }),
      ),
    }),
  ),
  total: count,
});

/** The output of `trace convert`, `sample` and `generate`; generators omit nothing and count no tasks. */
const traceFile = z.object({
  schema: z.literal('goshawk.trace-file/1'),
  workload: z.string(),
  file: z.string(),
  jobs: count,
  format: z.string().optional(),
  tasks: count.optional(),
  tallied: tallied.optional(),
});

const six = z.object({
  count,
  mean: z.number(),
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  max: z.number(),
});
const cdf = z.array(z.number()).length(101);

const jobClass = z.object({
  jobs: count,
  jobsShare: share,
  tasksShare: share,
  taskSecondsShare: share,
  tasksPerJob: six.nullable(),
  taskDurationSeconds: six.nullable(),
});

const traceStats = z.object({
  schema: z.literal('goshawk.trace-stats/1'),
  workload: z.string(),
  tallied,
  jobs: count,
  tasks: count,
  taskSeconds: seconds,
  firstSubmitSeconds: seconds,
  spanSeconds: seconds,
  arrivals: z.object({
    jobsPerSecond: maybe,
    meanInterarrivalSeconds: maybe,
    interarrivalSpread: maybe,
  }),
  taskSecondsPerSecond: maybe,
  offeredLoad: z.array(z.object({ workers: count, load: z.number() })),
  tasksPerJob: six,
  taskDurationSeconds: six,
  jobMeanDurationSeconds: six,
  jobTaskSeconds: six,
  spreadWithinJobs: six.nullable(),
  longestTenth: z.object({
    jobs: count,
    cutoffSeconds: seconds,
    taskSecondsShare: share,
    tasksShare: share,
    durationRatioByTask: maybe,
    durationRatioByJob: maybe,
  }),
  classes: z.object({ cutoffSeconds: seconds, short: jobClass, long: jobClass }).optional(),
  users: z
    .object({
      count,
      heaviest: z.array(
        z.object({
          user: z.string(),
          jobs: count,
          tasks: count,
          taskSeconds: seconds,
          taskSecondsShare: share,
        }),
      ),
    })
    .nullable(),
  cdfs: z.object({ tasksPerJob: cdf, taskDurationSeconds: cdf, jobMeanDurationSeconds: cdf }).optional(),
});

/** How jobs with deadlines and the jobs of each user fared. */
const served = {
  deadlines: z.object({ jobs: count, missed: count }).optional(),
  users: z.array(
    z.object({ user: z.string(), jobs: count, p50: seconds.nullable(), p90: seconds.nullable() }),
  ),
};

const tried = z.object({
  label: z.string(),
  policy: z.string(),
  workers: count,
  runtimeSeconds: runTimes,
  ...served,
});
/** Values by statistic, such as `short p50`; unknown ones are left out. */
const ratios = z.partialRecord(z.enum(['short p50', 'short p90', 'long p50', 'long p90']), z.number());

const whatif = z.object({
  schema: z.literal('goshawk.whatif/1'),
  messageSeconds: seconds,
  recorded: z.object({
    jobs: count,
    tasks: count,
    spanSeconds: seconds,
    runtimeSeconds: runTimes,
    ...served,
  }),
  simulated: tried.extend({ ratiosToRecorded: ratios }),
  others: z.array(tried.extend({ ratiosToSimulated: ratios })),
  advice: z.array(z.string()),
});

const ascending = z.array(z.number().nonnegative());

/** Read by `simulate --network-delay measured:FILE`. */
const delays = z.object({
  schema: z.literal('goshawk.delays/1'),
  workersPerProcess: z.int().positive(),
  phases: z
    .array(
      z.object({
        fromMs: z.number(),
        messages: z.array(
          z.object({ type: z.enum(MESSAGE_TYPES), sameProcess: z.boolean(), ms: ascending.min(1) }),
        ),
        sleepLateMs: ascending,
        timerLateMs: ascending,
        submissionMs: ascending,
        newsMs: ascending,
      }),
    )
    .min(1),
});

const header = <const S extends string>(schema: S) => z.object({ schema: z.literal(schema) });

/** A line of `--save-results`: the header, then a line per job. */
const resultLine = z.union([
  header('goshawk.results/1'),
  z.object({
    policy: z.string(),
    seed: z.number(),
    job: z.int().positive(),
    submitSeconds: seconds,
    tasks: count,
    meanSeconds: seconds,
    class: z.enum(['short', 'long']),
    judged: z.enum(['short', 'long']),
    estimateSeconds: maybe,
    pilots: count,
    decidedSeconds: maybe,
    outcome: z.enum(['completed', 'failed']),
    runtimeSeconds: seconds,
    deadlineSeconds: seconds.optional(),
  }),
]);

const durations = z.array(seconds).min(1);
const positive = z.number().positive();
const text = z.string().min(1).max(LIMITS.nameLengthMax);
const amount = z.number().nonnegative().max(LIMITS.amountMax);
const weight = z
  .number()
  .min(1 / LIMITS.weightMax)
  .max(LIMITS.weightMax);
const attributes = z.record(text, text);
const demand = z.record(text, amount);

const traceJob = {
  submitSeconds: seconds,
  meanSeconds: seconds.optional(),
  demand: demand.optional(),
  prefer: attributes.optional(),
  require: attributes.optional(),
  machineShare: z.object({ cpu: amount, memory: amount, disk: amount }).optional(),
  name: text.optional(),
  user: text.optional(),
  logicalName: text.optional(),
  schedulingClass: z.int().min(0).max(3).optional(),
  estimateSeconds: seconds.optional(),
  deadlineSeconds: positive.optional(),
  weight: weight.optional(),
  priority: z.enum(PRIORITIES).optional(),
  ...givenSchemas(),
  retries: z.int().min(0).max(LIMITS.retriesMax).optional(),
  retryBackoffSeconds: positive.optional(),
  timeoutSeconds: seconds.optional(),
  timeLimitSeconds: positive.optional(),
  maxRunning: z.int().positive().optional(),
  waitSeconds: seconds.optional(),
  slowdown: z.number().min(1).max(LIMITS.slowdownMax).optional(),
  gang: z.boolean().optional(),
  lend: z.boolean().optional(),
};

const traceStage = z.object({
  name: text,
  after: z.array(text).optional(),
  durationsSeconds: durations,
  demand: demand.optional(),
  require: attributes.optional(),
  gang: z.boolean().optional(),
  lend: z.boolean().optional(),
  estimateSeconds: positive.optional(),
});

/** A line of a `jsonl` trace: the header, then a line per job. */
const traceLine = z.union([
  header('goshawk.trace/1'),
  z.object({ ...traceJob, durationsSeconds: durations }),
  z.object({ ...traceJob, stages: z.array(traceStage).min(1) }),
]);

const SHAPES = [comparison, delays, figure, figures, generators, traceFile, traceStats, whatif] as const;

declare module '@goshawk/core' {
  interface Outputs extends OutputsOf<(typeof SHAPES)[number]> {}
}

export function laboratorySchemas(): PublishedSchemas {
  return publish(SHAPES, {
    'goshawk.results/1': resultLine,
    'goshawk.trace/1': traceLine,
  });
}
