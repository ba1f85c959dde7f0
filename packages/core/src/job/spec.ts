import { z } from 'zod';
import { parseDuration } from '../durations.js';
import type { InputError } from '../errors.js';
import { JOB_ID } from '../ids.js';
import { LIMITS } from '../limits.js';
import type { Resources } from '../resources.js';
import { type Begin, parseBegin } from './begin.js';
import { parseBytes } from './bytes.js';
import { type Payload, passableText, payloadFields, payloadSchema, withUnit } from './payload.js';
import { PRIORITIES, type Priority } from './priority.js';
import { exitCodeOfSignal } from './signals.js';

/**
 * The job model as people write it (job files, SDK) and as it travels. Durations are milliseconds or text
 * with a unit, amounts of memory bytes or text with a unit; `parseJobSpec` makes numbers of both.
 */

const name = () => passableText().min(1).max(LIMITS.nameLengthMax);

const otherJobs = () =>
  z
    .array(z.string().regex(JOB_ID, 'this is no id of a job, as `goshawk submit` prints one'))
    .min(1)
    .max(LIMITS.predecessorsMax)
    .optional();

const wholeNumber = () => z.number().int().nonnegative();

const duration = (what: string) => withUnit(what, parseDuration, LIMITS.durationMaxMs);

/** A number is a delay in ms. */
const begin = () =>
  z
    .union([z.number().nonnegative().max(LIMITS.durationMaxMs), z.string()])
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
  z
    .record(name(), withUnit('demand', parseBytes, LIMITS.amountMax))
    .refine(
      (amounts) => Object.keys(amounts).length <= LIMITS.resourcesMax,
      `at most ${LIMITS.resourcesMax} resources`,
    );

const attributes = () =>
  z
    .record(
      name(),
      z.union([name(), z.array(name()).min(1).max(LIMITS.attributeValuesMax)], {
        error: () => `expected a text, or a list of 1 to ${LIMITS.attributeValuesMax} texts`,
      }),
    )
    .refine(
      (named) => Object.keys(named).length <= LIMITS.attributesMax,
      `at most ${LIMITS.attributesMax} attributes`,
    );

const tasks = () =>
  z.union(
    [
      z.array(payloadSchema).min(1, 'a job has a task at least').max(LIMITS.tasksPerJobMax),
      z.strictObject({ count: wholeNumber().min(1).max(LIMITS.tasksPerJobMax), run: payloadSchema }),
    ],
    { error: () => 'expected a list of tasks, or {count, run}, each task one of {sleep}, {exec}, {module}' },
  );

const stage = () =>
  z.strictObject({
    name: name().describe('of the stage; each has one of its own'),
    after: z
      .array(name())
      .max(LIMITS.stagesPerJobMax)
      .default([])
      .describe('names of the stages that must have completed before this one starts'),
    tasks: tasks().describe('the tasks of the stage, as those of a job'),
    inputs: z
      .array(name())
      .min(1)
      .max(LIMITS.stagesPerJobMax)
      .optional()
      .describe(
        'names of earlier stages whose return values its tasks are given: `context.results(name)` in a module, a file of JSON lines in GOSHAWK_INPUTS for a command',
      ),
    demand: demand()
      .optional()
      .describe('what each task of this stage needs beside a slot; overrides the job’s'),
    require: attributes()
      .optional()
      .describe('attributes that workers must have for this stage; overrides the job’s'),
    gang: z
      .boolean()
      .optional()
      .describe('the tasks of this stage start together or not at all; overrides the job’s'),
    estimate: duration('estimate')
      .refine((ms) => ms > 0, 'a stage takes time; leave the estimate out where nothing is known')
      .optional()
      .describe('mean run time of this stage’s tasks, as the submitter believes it; overrides the job’s'),
  });

/** Of version 00, with ids that are not all zeros. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The field for what a process or a request was given as its span; what is none counts for nothing, as W3C has it. */
export function givenSpan(traceparent: string | undefined): { traceparent?: string } {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? { traceparent } : {};
}

/** An exit code, or the name of a signal, which becomes one. */
const retriedOn = () =>
  z.union([z.number().int().min(1).max(255), z.string()]).transform((given, context) => {
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
      name: name().default('job').describe('what the job is called in lists; estimators learn by it'),
      user: name().optional().describe('whose job it is; the user who submits it unless given'),
      logicalName: name()
        .optional()
        .describe('stays the same from one run of a recurring job to the next; estimators learn by it'),
      seed: name()
        .optional()
        .describe(
          'what the job’s own draws come from, as which tasks are pilots; for runs that are to be made again',
        ),
      tasks: tasks().optional().describe('a job of one stage. Either this or `stages`'),
      open: duration('open')
        .refine((ms) => ms > 0, 'give clients some time to come back, such as "1h"')
        .optional()
        .describe(
          'clients append tasks, as `map` of the SDK does, until one closes the job, or none has appended to it or watched it for so long. It may begin without `tasks`',
        ),
      stages: z
        .array(stage())
        .min(1)
        .max(LIMITS.stagesPerJobMax)
        .optional()
        .describe('stages of tasks that may wait for each other, in place of `tasks`'),
      estimate: duration('estimate')
        .optional()
        .describe('mean run time of the job’s tasks, as the submitter believes it'),
      retries: wholeNumber()
        .max(LIMITS.retriesMax)
        .default(0)
        .describe('runs of a task that may fail before the task has failed, less one'),
      retryBackoff: duration('retryBackoff')
        .refine((ms) => ms > 0, 'leave it out to try again at once')
        .optional()
        .describe(
          'a task that failed rests about so long before it is tried again, twice as long the next time, up to 5 min',
        ),
      retryOn: z
        .array(retriedOn())
        .min(1)
        .max(LIMITS.exitCodesMax)
        .optional()
        .describe(
          'retry only after these exit codes and signals: 75, "SIGXCPU". A signal is also 128 plus its number: 137 is SIGKILL',
        ),
      timeout: duration('timeout')
        .optional()
        .describe('a task that runs longer is killed and has failed. Counted from the task’s start'),
      timeLimit: duration('timeLimit')
        .refine((ms) => ms > 0, 'a limit of 0 has passed already')
        .optional()
        .describe(
          'of the job: what of it has not ended so long after its first task started is killed, and has failed',
        ),
      after: otherJobs().describe(
        'ids of jobs that must have ended, however, before anything of this one starts',
      ),
      afterOk: otherJobs().describe(
        'ids of jobs that must have completed before; if one fails or is cancelled, this job is held until a retry of that one completes',
      ),
      demand: demand()
        .optional()
        .describe('what each task needs beside a slot: {"cpu": 2, "memory": "1GiB", "gpu": 1}'),
      hold: z
        .boolean()
        .optional()
        .describe('nothing of the job starts until it is released, by `goshawk release` or over the API'),
      begin: begin()
        .optional()
        .describe(
          'nothing of the job starts before: a delay from its acceptance, "2h", or a time with its zone, "2026-11-25T22:00:00+01:00"',
        ),
      gang: z
        .boolean()
        .optional()
        .describe(
          'the tasks of each stage start together or not at all; if one fails or is lost, all of them start again',
        ),
      preemptible: z
        .boolean()
        .optional()
        .describe(
          'running tasks of the job may be killed, and start again later, for a job that would miss its deadline',
        ),
      maxRunning: wholeNumber().min(1).optional().describe('at most so many tasks of the job run at a time'),
      deadline: duration('deadline')
        .refine((ms) => ms > 0, 'a deadline of 0 has passed already')
        .optional()
        .describe('from submission. Policies that plan by it try to end the job by then'),
      value: z
        .number()
        .positive()
        .max(LIMITS.weightMax)
        .optional()
        .describe('what meeting the deadline is worth, where it is more or less than for other jobs'),
      require: attributes()
        .optional()
        .describe(
          'attributes that a worker must have to run a task: {"zone": "eu", "model": ["a100", "h100"]}, a value, or several of which one will do. What no worker has is waited for',
        ),
      prefer: attributes()
        .optional()
        .describe(
          'attributes that workers should have, where the policy can choose: a value, or several of which one will do',
        ),
      slowdown: z
        .number()
        .min(1)
        .max(LIMITS.slowdownMax)
        .optional()
        .describe(
          'how many times as long tasks take on workers without what is preferred: estimators reckon with it, and tasks that sleep do so',
        ),
      priority: z
        .enum(PRIORITIES)
        .optional()
        .describe(
          'low, normal or high: a factor of 8 or 1/8 in the order of due times of `goshawk`, of 1/8 or 8 in the weight where jobs share by it; nobody waits for ever [normal]',
        ),
      weight: z
        .number()
        .min(1 / LIMITS.weightMax)
        .max(LIMITS.weightMax)
        .default(1)
        .describe('share relative to other jobs. Carried for policies that share by it'),
      traceparent: z
        .string()
        .regex(TRACEPARENT, 'no W3C traceparent: 00-TRACE-SPAN-FLAGS, in lower-case hexadecimal digits')
        .optional()
        .describe('the span of the submitter (W3C Trace Context); the trace of the job links to it'),
    })
    .refine(
      (job) => job.open !== undefined || (job.tasks === undefined) !== (job.stages === undefined),
      'give either "tasks" or "stages"',
    )
    .refine((job) => job.open === undefined || job.stages === undefined, 'a job of stages is never open')
    .refine(
      (job) => job.retries > 0 || (job.retryBackoff === undefined && job.retryOn === undefined),
      '"retryBackoff" and "retryOn" say how tasks are tried again, and "retries" that they are not',
    ),
);

export interface StageSpec {
  readonly name: string;
  /** Indices of the stages that come before; always smaller than this stage's own index. */
  readonly after: readonly number[];
  readonly tasks: TaskList;
  /** Indices of earlier stages whose values its tasks are given. */
  readonly inputs?: readonly number[];
  readonly demand: Resources;
  /** Attributes that a worker must have; values of which one will do are joined by commas. Absent: any worker. */
  readonly requires?: Readonly<Record<string, string>>;
  /** Mean run time of its tasks, as the submitter believes it; absent: the job's. */
  readonly estimateMs?: number;
  /** Its tasks start together or not at all, and one that comes to nothing ends the attempt for all. */
  readonly gang?: true;
}

/**
 * Many alike are a count, so that a job of 100,000 equal tasks is one object; and tasks that only sleep, as in
 * simulations, are a column of durations (ms).
 */
export type TaskList =
  | { readonly count: number; readonly run: Payload }
  | { readonly each: readonly Payload[] }
  | { readonly sleepsMs: ArrayLike<number> };

/** A validated job: stages in an order in which they can run, numbers in ms and bytes, defaults filled in. */
export interface JobSpec {
  readonly name: string;
  readonly user: string | undefined;
  readonly logicalName?: string | undefined;
  readonly seed?: string | undefined;
  readonly stages: readonly StageSpec[];
  readonly estimateMs: number | undefined;
  readonly retries: number;
  /** Of the first retry; doubles with each. */
  readonly retryBackoffMs?: number;
  /** Exit codes that are tried again; absent: whatever fails is. */
  readonly retryOn?: readonly number[];
  readonly timeoutMs: number | undefined;
  /** Tasks may be appended until it is closed, which it is when no client was heard of for so long. */
  readonly openMs?: number;
  /** Of the whole job, from its first start. */
  readonly timeLimitMs?: number;
  /** Ids of jobs that must have ended before it starts. */
  readonly after?: readonly string[];
  /** Those that must have completed; else it is cancelled. */
  readonly afterOk?: readonly string[];
  /** It is held from the start. */
  readonly hold?: true;
  /** Nothing of it starts before. */
  readonly begin?: Begin;
  readonly maxRunning: number | undefined;
  readonly deadlineMs: number | undefined;
  readonly weight: number;
  /** Absent: normal. */
  readonly priority?: Priority;
  readonly value?: number;
  /** Values of which one will do are joined by commas. */
  readonly prefer?: Readonly<Record<string, string>>;
  /** Its running tasks may be killed for a job that would miss its deadline. */
  readonly preemptible?: true;
  /** How many times as long tasks take on workers without what is preferred. */
  readonly slowdown?: number;
  /** The submitter's span, as W3C Trace Context writes it. */
  readonly traceparent?: string;
}

export type JobInput = z.input<typeof jobSpecSchema>;
export type ParsedJob = z.output<typeof jobSpecSchema>;

/** Fields by where they stand: of a job, of a stage, of a task. For errors. */
export function fieldsOf(of: 'job' | 'stage' | 'task'): readonly string[] {
  if (of === 'task') return [...payloadFields(), 'count', 'run'];
  return Object.keys(of === 'job' ? jobSpecSchema.unwrap().shape : stage().shape);
}

export { jobSpecSchema };
