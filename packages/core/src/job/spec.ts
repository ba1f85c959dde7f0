import { z } from 'zod';
import { boundedList, boundedRecord } from '../bounded.js';
import { type InputError, quoted } from '../errors.js';
import type { ParentRun } from '../fields/records.js';
import { JOB_ID } from '../ids.js';
import { LIMITS } from '../limits.js';
import { spreadIn } from '../needs/requirements.js';
import type { Resources } from '../resources/resources.js';
import { notifyTargetOf } from '../system/notify-target.js';
import { exitCodeOfSignal } from '../system/signals.js';
import type { TaskRange } from '../task-ranges.js';
import { nameProblem } from '../text/utf8.js';
import { type Begin, parseBegin } from './begin.js';
import { parseBytes } from './bytes.js';
import { type GivenFacts, givenSchemas } from './facts.js';
import {
  DURATION,
  type Payload,
  passable,
  payloadFields,
  payloadSchema,
  payloadSchemaOf,
  withUnit,
} from './payload.js';
import { PRIORITIES, type Priority } from './priority.js';

/**
 * The job model of job files, the SDK and the wire. Durations are milliseconds or text with a unit, memory is
 * bytes or text with a unit; `parseJobSpec` converts both to numbers.
 */

const name = () => passable(nameProblem).min(1).max(LIMITS.nameLengthMax);

const otherJobs = () =>
  boundedList(z.string().regex(JOB_ID, 'this is not a job id; `goshawk submit` prints one'))
    .min(1)
    .max(LIMITS.predecessorsMax)
    .optional();

const wholeNumber = () => z.number().int().nonnegative();

const duration = (what: string) => withUnit(what, DURATION);

/** A number is a delay in ms. */
const begin = () =>
  z
    .union([z.number().nonnegative().max(LIMITS.durationMaxMs), z.string()], {
      error: () =>
        `expected a number of ms from 0 to ${LIMITS.durationMaxMs}, or a text such as "2h" or "2026-11-25T22:00:00+01:00"`,
    })
    .transform((given, context): Begin => {
      if (typeof given === 'number') return { afterMs: given };
      try {
        return parseBegin(given, 'begin');
      } catch (error) {
        const { message, hint } = error as InputError;
        context.addIssue({ code: 'custom', message: `${message.replace('begin: ', '')}; ${hint}` });
        return z.NEVER;
      }
    });

const demand = () =>
  boundedRecord(name(), withUnit('demand', { parse: parseBytes, max: LIMITS.amountMax, example: '"1GiB"' }), [
    LIMITS.resourcesMax,
    'resources',
  ]);

const value = () => z.string().min(1).max(LIMITS.nameLengthMax);

const attributes = () =>
  boundedRecord(
    name(),
    z
      .union([value(), boundedList(value()).min(1).max(LIMITS.attributeValuesMax)], {
        error: () => `expected a text, or a list of 1 to ${LIMITS.attributeValuesMax} texts`,
      })
      .superRefine((values, context) => {
        const problem = valuesProblem(String(values));
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      }),
    [LIMITS.attributesMax, 'attributes'],
  );

/** Checks alternative values separated by commas, with a ! in front of values to avoid, or a number to spread over. */
function valuesProblem(values: string): string | undefined {
  if (Number.isNaN(spreadIn(values)))
    return `${quoted(values)} has no number of tasks from 1; for example spread:2`;
  for (const each of values.replace(/^!/, '').split(',')) {
    const problem = nameProblem(each, 'it');
    if (problem !== undefined) return `the value ${quoted(each)} is not valid: ${problem}`;
  }
  return undefined;
}

const TASKS_MAX = `a job has at most ${LIMITS.tasksPerJobMax} tasks`;

const tasks = () =>
  z.union(
    [
      boundedList(payloadSchema, payloadSchemaOf)
        .min(1, 'a job needs at least one task')
        .max(LIMITS.tasksPerJobMax),
      z.strictObject({
        count: wholeNumber().min(1).max(LIMITS.tasksPerJobMax, TASKS_MAX),
        run: payloadSchema,
      }),
    ],
    {
      error: ({ input }) =>
        Array.isArray(input) && input.length > LIMITS.tasksPerJobMax
          ? `${TASKS_MAX}, not ${input.length}`
          : 'expected a list of tasks, or {count, run}, each task one of {sleep}, {exec}, {module}',
    },
  );

const stage = () =>
  z.strictObject({
    name: name().describe('unique name of the stage'),
    after: boundedList(name())
      .max(LIMITS.stagesPerJobMax)
      .default([])
      .describe('names of the stages that must have completed before this one starts'),
    tasks: tasks().describe('the tasks of the stage, like those of a job'),
    inputs: boundedList(name())
      .min(1)
      .max(LIMITS.stagesPerJobMax)
      .optional()
      .describe(
        'names of earlier stages whose return values its tasks get: `context.results(name)` in a module, a file of JSON lines in GOSHAWK_INPUTS for a command',
      ),
    demand: demand().optional().describe('resources of each task of this stage; overrides the job’s'),
    require: attributes()
      .optional()
      .describe('attributes that workers must have for this stage; overrides the job’s'),
    gang: z
      .boolean()
      .optional()
      .describe('the tasks of this stage start together or not at all; overrides the job’s'),
    lend: z.boolean().optional().describe('as for a job; overrides the job’s'),
    estimate: duration('estimate')
      .refine((ms) => ms > 0, 'an estimate is more than 0; omit it if nothing is known')
      .optional()
      .describe('estimated mean run time of this stage’s tasks; overrides the job’s'),
  });

/** Version 00 with ids that are not all zeros. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Returns the `traceparent` field for a process or request. An invalid one is ignored, as W3C Trace Context
 * requires.
 */
export function givenSpan(traceparent: string | undefined): { traceparent?: string } {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? { traceparent } : {};
}

/**
 * Returns the `parent` field of a job that a process with this environment submits: the task that runs it. Invalid variables
 * are ignored.
 */
export function givenParent(environment: Readonly<Record<string, string | undefined>>): {
  parent?: ParentRun;
} {
  const { GOSHAWK_JOB: job = '', GOSHAWK_TASK: task = '', GOSHAWK_RUN: run = '' } = environment;
  const [, worker, match] = /^(.+)\/(\d+)$/.exec(run) ?? [];
  if (worker === undefined || !/^\d+$/.test(task)) return {};
  const found = parentSchema().safeParse({ job, task: Number(task), worker, match: Number(match) });
  return found.success ? { parent: found.data } : {};
}

const parentSchema = () =>
  z.strictObject({
    job: name().describe('id of the task’s job'),
    task: wholeNumber().max(LIMITS.tasksPerJobMax).describe('number of the task in its job'),
    worker: name().describe('name of the worker on which it runs'),
    match: wholeNumber().describe('number of its match at the worker'),
  });

const RETRIED_ON = 'expected an exit code from 1 to 255, or a signal such as "SIGXCPU"';

/** An exit code, or the name of a signal, which is converted to one. */
const retriedOn = () =>
  z
    .union([z.number().int().min(1).max(255), z.string()], { error: () => RETRIED_ON })
    .transform((given, context) => {
      if (typeof given === 'number') return given;
      const code = exitCodeOfSignal(given);
      if (code !== undefined) return code;
      context.addIssue({
        code: 'custom',
        message: `"${given}" is neither an exit code nor a signal such as "SIGXCPU"`,
      });
      return z.NEVER;
    });

const jobSpecSchema = z.lazy(() =>
  z
    .strictObject({
      name: name()
        .default('job')
        .describe('name of the job in lists; estimators treat jobs with the same name as similar'),
      user: name().optional().describe('user that the job belongs to; by default the user who submits it'),
      logicalName: name()
        .optional()
        .describe(
          'a name that stays the same for each run of a recurring job; estimators treat jobs with the same one as similar',
        ),
      seed: name()
        .optional()
        .describe('seed of the job’s random choices, such as which tasks are pilots; for reproducible runs'),
      tasks: tasks().optional().describe('the tasks of a job with one stage. Give either this or `stages`'),
      open: duration('open')
        .refine((ms) => ms > 0, 'give clients time to reconnect, such as "1h"')
        .optional()
        .describe(
          'clients append tasks, as `map` of the SDK does. The job closes when a client closes it, or when no client has appended to it or watched it for this long. `tasks` may be omitted',
        ),
      stages: boundedList(stage())
        .min(1)
        .max(LIMITS.stagesPerJobMax, `a job has at most ${LIMITS.stagesPerJobMax} stages`)
        .optional()
        .describe('stages of tasks that can depend on each other, instead of `tasks`'),
      estimate: duration('estimate').optional().describe('estimated mean run time of the job’s tasks'),
      retries: wholeNumber()
        .max(LIMITS.retriesMax)
        .default(0)
        .describe('how many times a failed task is run again'),
      retryBackoff: duration('retryBackoff')
        .refine((ms) => ms > 0, 'omit it to retry immediately')
        .optional()
        .describe(
          'longest delay before the first retry of a failed task, doubled for each further retry up to 5 min',
        ),
      retryOn: boundedList(retriedOn())
        .min(1)
        .max(LIMITS.exitCodesMax)
        .optional()
        .describe(
          'retry only after these exit codes and signals: 75, "SIGXCPU". 128 plus a number also names a signal: 137 is SIGKILL',
        ),
      timeout: duration('timeout')
        .optional()
        .describe('a task that runs longer is killed and fails. Counted from the start of the task'),
      timeLimit: duration('timeLimit')
        .refine((ms) => ms > 0, 'a limit of 0 has already passed')
        .optional()
        .describe(
          'limit for the whole job: tasks that have not ended this long after the first task started are killed and fail',
        ),
      after: otherJobs().describe('ids of jobs that must end, with any outcome, before this job starts'),
      afterOk: otherJobs().describe(
        'ids of jobs that must complete before this job starts; if one fails or is cancelled, this job waits until a retry of it completes',
      ),
      demand: demand()
        .optional()
        .describe(
          'resources of each task: {"cpu": 2, "memory": "1GiB", "gpu": 1}; a task that requests none takes one CPU',
        ),
      hold: z
        .boolean()
        .optional()
        .describe('no task starts until the job is released, by `goshawk release` or the API'),
      begin: begin()
        .optional()
        .describe(
          'no task starts before this time: a delay from acceptance, "2h", or a time with its zone, "2026-11-25T22:00:00+01:00"',
        ),
      gang: z
        .boolean()
        .optional()
        .describe(
          'the tasks of each stage start together or not at all; if one fails or is lost, all of them start again',
        ),
      lend: z
        .boolean()
        .optional()
        .describe(
          'whether running tasks may pause while others use their CPUs; false for programs that must answer at any time or measure time [true]',
        ),
      maxRunning: wholeNumber()
        .min(1)
        .optional()
        .describe('maximum number of tasks of the job that run at the same time'),
      deadline: duration('deadline')
        .refine((ms) => ms > 0, 'a deadline of 0 has already passed')
        .optional()
        .describe(
          'time from submission, also of a job with `begin`, by which the job should end: `goshawk` and policies that plan by deadlines use it, and `wait` exits with 4 if it is missed',
        ),
      ...givenSchemas(),
      require: attributes()
        .optional()
        .describe(
          'attributes that a worker must have to run a task: {"zone": "eu", "model": ["a100", "h100"]}, one value or a list of alternatives, or with ! in front the values to avoid; {"rack": "spread:2"}: at most 2 tasks of the job run at workers with the same rack. The job waits while no worker qualifies',
        ),
      prefer: attributes()
        .refine(
          (named) => !Object.values(named).some((values) => spreadIn(String(values)) !== undefined),
          'a job spreads over attributes that it requires, not over preferred ones',
        )
        .optional()
        .describe('attributes that the policy prefers in workers: one value or a list of alternatives'),
      slowdown: z
        .number()
        .min(1)
        .max(LIMITS.slowdownMax)
        .optional()
        .describe(
          'how many times longer tasks run on workers without the preferred attributes; estimators account for it, and sleep tasks sleep that much longer',
        ),
      priority: z
        .enum(PRIORITIES)
        .optional()
        .describe(
          'low, normal or high. `goshawk` multiplies the time from arrival to due time by 8 (low) or 1/8 (high); policies that share by weight multiply the weight by 1/8 or 8. No job starves [normal]',
        ),
      weight: z
        .number()
        .min(1 / LIMITS.weightMax)
        .max(LIMITS.weightMax)
        .default(1)
        .describe('share relative to other jobs, for policies that share by weight'),
      notify: z
        .string()
        .max(LIMITS.argumentLengthMax)
        .refine(
          (text) => notifyTargetOf(text) !== undefined,
          'not an address such as "https://hooks.example.org/goshawk", "mail:ann@example.org" or "command:notify-send done"',
        )
        .optional()
        .describe(
          'HTTP address, mail:ADDRESS or command:COMMAND, notified each time the job ends, including after a retry; the scheduler must allow it (`--notify-hosts`)',
        ),
      parent: parentSchema()
        .optional()
        .describe(
          'the running task that submits this job, from its GOSHAWK_JOB, GOSHAWK_TASK and GOSHAWK_RUN; clients add it. If the job fits nowhere, it runs on the CPUs of that task, which usually waits for it',
        ),
      traceparent: z
        .string()
        .regex(TRACEPARENT, 'not a W3C traceparent: 00-TRACE-SPAN-FLAGS, in lower-case hexadecimal digits')
        .optional()
        .describe('span of the submitter (W3C Trace Context), which the job’s trace links to'),
    })
    .refine(
      (job) => job.open !== undefined || (job.tasks === undefined) !== (job.stages === undefined),
      'give either "tasks" or "stages"',
    )
    .refine((job) => job.open === undefined || job.stages === undefined, 'a job with stages cannot be open')
    .refine(
      (job) => job.retries > 0 || (job.retryBackoff === undefined && job.retryOn === undefined),
      '"retryBackoff" and "retryOn" need "retries" above 0',
    ),
);

export interface StageSpec {
  readonly name: string;
  /** Indices of the preceding stages; always smaller than this stage's index. */
  readonly after: readonly number[];
  readonly tasks: TaskList;
  /** Indices of earlier stages whose values its tasks receive. */
  readonly inputs?: readonly number[];
  readonly demand: Resources;
  /** Attributes that a worker must have; alternatives are comma-separated. Absent: any worker. */
  readonly requires?: Readonly<Record<string, string>>;
  /** The submitter's estimate of the mean run time of its tasks; absent: the job's estimate. */
  readonly estimateMs?: number;
  /**
   * The stage is a gang: its tasks start together or not at all, and if one fails or is lost the attempt ends
   * for all.
   */
  readonly gang?: true;
  /** Its running tasks must not pause for others. Absent: they may. */
  readonly lend?: false;
}

/**
 * The tasks of a job, in compact form: equal tasks are a count, so that a job of 100,000 of them is one
 * object, and sleep tasks, as in simulations, are an array of durations (ms).
 */
export type TaskList =
  | { readonly count: number; readonly run: Payload }
  | { readonly each: readonly Payload[] }
  | { readonly sleepsMs: ArrayLike<number> };

/** A validated job: stages in topological order, numbers in ms and bytes, defaults filled in. */
export interface JobSpec extends GivenFacts {
  readonly name: string;
  readonly user: string | undefined;
  readonly logicalName?: string | undefined;
  readonly seed?: string | undefined;
  readonly stages: readonly StageSpec[];
  readonly estimateMs: number | undefined;
  readonly retries: number;
  /** Longest delay before the first retry, doubled for each further one; the actual delay is half to all of it. */
  readonly retryBackoffMs?: number;
  /** Exit codes that are retried; absent: every failure. */
  readonly retryOn?: readonly number[];
  readonly timeoutMs: number | undefined;
  /**
   * The job is open: tasks may be appended until a client closes it or no client has been active for this
   * long.
   */
  readonly openMs?: number;
  /** Limit for the whole job, from its first start. */
  readonly timeLimitMs?: number;
  /** Ids of jobs that must end, with any outcome, before this job starts. */
  readonly after?: readonly string[];
  /** Ids of jobs that must complete before this job starts. */
  readonly afterOk?: readonly string[];
  /** The job is on hold from the start. */
  readonly hold?: true;
  /** Earliest start of the job. */
  readonly begin?: Begin;
  readonly maxRunning: number | undefined;
  readonly deadlineMs: number | undefined;
  readonly weight: number;
  /** Absent: normal. */
  readonly priority?: Priority;
  /** Preferred attributes; alternatives are comma-separated. */
  readonly prefer?: Readonly<Record<string, string>>;
  /** How many times longer tasks run on workers without the preferred attributes. */
  readonly slowdown?: number;
  /** The address that is notified when the job ends. */
  readonly notify?: string;
  /** The running task that submitted the job. */
  readonly parent?: ParentRun;
  /** The submitter's span, as W3C Trace Context writes it. */
  readonly traceparent?: string;
  /**
   * The job consists of these tasks of an ended job, with the same numbers. Only schedulers set it.
   */
  readonly retryOf?: { readonly job: string; readonly tasks: readonly TaskRange[] };
}

/** A job as users write it. It accepts read-only lists, such as those of `as const`. */
export type JobInput = Unchanged<z.input<typeof jobSpecSchema>>;
type Unchanged<T> = T extends object ? { readonly [Field in keyof T]: Unchanged<T[Field]> } : T;

export type ParsedJob = z.output<typeof jobSpecSchema>;

/** Names of the fields of a job, stage or task, for error messages. */
export function fieldsOf(of: 'job' | 'stage' | 'task'): readonly string[] {
  if (of === 'task') return [...payloadFields(), 'count', 'run'];
  return Object.keys(of === 'job' ? jobSpecSchema.unwrap().shape : stage().shape);
}

export { jobSpecSchema };

/** A JSON Schema (draft 2020-12) of job files, with which editors validate them. */
export function jobJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(jobSpecSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // An SDK may pass stdin as bytes, which JSON cannot represent.
      if (zodSchema._zod.def.type === 'custom') jsonSchema.not = {};
    },
  });
  return { ...schema, title: 'A job of Goshawk' };
}
