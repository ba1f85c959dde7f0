import {
  givenSchemas,
  LIMITS,
  meanOf,
  nameProblem,
  PRIORITIES,
  type Priority,
  present,
  type Resources,
} from '@goshawk/core';
import { quote, quoteJson } from '../../errors.js';
import type { MachineShare, TraceJob, TraceStage } from '../../job.js';
import { isSeconds, TASKS_MAX } from '../fields.js';
import { inRunningOrder, type StageInFile } from '../stages.js';

/** An error of a line, without its location; `advice` is the remedy. */
export class FieldProblem extends Error {
  readonly advice: string;

  constructor(problem: string, advice: string) {
    super(problem);
    this.advice = advice;
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The type of a value: a description and a check. */
interface Kind<T> {
  readonly accepts: string;
  readonly is: (value: unknown) => value is T;
}

function number(accepts: string, is: (value: number) => boolean): Kind<number> {
  return {
    accepts,
    // JSON.parse yields Infinity for a number that is too large.
    is: (value): value is number => typeof value === 'number' && Number.isFinite(value) && is(value),
  };
}

const SECONDS = number('a number of seconds, at least 0', isSeconds);
/** A plan cannot contain a stage of 0 s. */
const STAGE_SECONDS = number('a number of seconds above zero', (value) => value > 0 && SECONDS.is(value));
const AMOUNT = number('a number of at least 0', (value) => value >= 0 && value <= LIMITS.amountMax);
const WEIGHT = number(
  `a number above zero, at most ${LIMITS.weightMax}`,
  (value) => value >= 1 / LIMITS.weightMax && value <= LIMITS.weightMax,
);

const PRIORITY: Kind<Priority> = {
  accepts: `one of ${PRIORITIES.join(', ')}`,
  is: (value): value is Priority => PRIORITIES.includes(value as Priority),
};

const SLOWDOWN = number(
  `a number from 1 to ${LIMITS.slowdownMax}`,
  (value) => value >= 1 && value <= LIMITS.slowdownMax,
);

function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return number(
    `a whole number ${range}`,
    (value) => Number.isSafeInteger(value) && value >= min && value <= max,
  );
}

const NAME: Kind<string> = {
  accepts: `a string of 1 to ${LIMITS.nameLengthMax} characters, without control characters and surrounding spaces`,
  is: (value): value is string => typeof value === 'string' && nameProblem(value) === undefined,
};

const FLAG: Kind<boolean> = {
  accepts: 'true or false',
  is: (value): value is boolean => typeof value === 'boolean',
};

const LIST: Kind<readonly unknown[]> = {
  accepts: 'a non-empty list',
  is: (value): value is readonly unknown[] => Array.isArray(value) && value.length > 0,
};

const NAMES: Kind<readonly unknown[]> = { accepts: 'a list', is: (value) => Array.isArray(value) };

const OBJECT: Kind<JsonObject> = {
  accepts: 'an object',
  is: (value): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** @param where name of the field for errors, such as `stages[1].name` */
function check<T>(value: unknown, kind: Kind<T>, where: string): T {
  if (kind.is(value)) return value;
  if (value === undefined) throw new FieldProblem(`${where} is missing`, `it must be ${kind.accepts}`);
  throw new FieldProblem(`${where} is ${quoteJson(value)}`, `it must be ${kind.accepts}`);
}

/** Checks that an object has no unknown fields, because a misspelled field would be ignored silently. */
function checkObject(value: unknown, known: readonly string[], where: string): JsonObject {
  const object = check(value, OBJECT, where);
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new FieldProblem(
      `${where} has the unknown field ${quote(unknown)}`,
      `known fields are ${known.join(', ')}`,
    );
  }
  return object;
}

function checkDurations(value: unknown, where: string): Float64Array {
  const list = check(value, LIST, where);
  if (list.length > TASKS_MAX)
    throw new FieldProblem(`${where} has ${list.length} tasks`, `a job has at most ${TASKS_MAX}`);
  const durations = new Float64Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const duration = list[i];
    durations[i] = SECONDS.is(duration) ? duration : check(duration, SECONDS, `${where}[${i}]`);
  }
  return durations;
}

/** Checks attributes and their values. */
function checkAttributes(value: unknown, where: string): Readonly<Record<string, string>> {
  for (const [name, each] of Object.entries(check(value, OBJECT, where))) {
    check(name, NAME, `a name in ${where}`);
    check(each, NAME, `${where}.${name}`);
  }
  return value as Readonly<Record<string, string>>;
}

/** Checks amounts by resource name. */
function checkDemand(value: unknown, where: string): Resources {
  const entries = Object.entries(check(value, OBJECT, where));
  if (entries.length > LIMITS.resourcesMax) {
    throw new FieldProblem(
      `${where} has ${entries.length} resources`,
      `at most ${LIMITS.resourcesMax} are allowed`,
    );
  }
  for (const [name, amount] of entries) {
    check(name, NAME, `a name in ${where}`);
    check(amount, AMOUNT, `${where}.${name}`);
  }
  return Object.fromEntries(entries) as Resources;
}

/** Facts that are checked as in job files. */
const GIVEN_KINDS = Object.fromEntries(
  Object.entries(givenSchemas()).map(([name, schema]): [string, Kind<unknown>] => [
    name,
    {
      accepts: 'valid as in a job file, see docs/JOBS.md',
      is: (value): value is unknown => schema.safeParse(value).success,
    },
  ]),
);

/** Optional fields with one value, which is checked and used unchanged. */
const OPTIONAL_VALUES: Readonly<Record<string, Kind<unknown>>> = {
  ...GIVEN_KINDS,
  name: NAME,
  user: NAME,
  logicalName: NAME,
  schedulingClass: wholeNumber(0, 3),
  estimateSeconds: SECONDS,
  deadlineSeconds: STAGE_SECONDS,
  weight: WEIGHT,
  priority: PRIORITY,
  value: WEIGHT,
  retries: wholeNumber(0, LIMITS.retriesMax),
  retryBackoffSeconds: STAGE_SECONDS,
  timeoutSeconds: SECONDS,
  timeLimitSeconds: STAGE_SECONDS,
  maxRunning: wholeNumber(1),
  waitSeconds: SECONDS,
  slowdown: SLOWDOWN,
  gang: FLAG,
  lend: FLAG,
  preemptible: FLAG,
};

const JOB_FIELDS = [
  'submitSeconds',
  'durationsSeconds',
  'meanSeconds',
  'stages',
  'demand',
  'prefer',
  'require',
  'machineShare',
  ...Object.keys(OPTIONAL_VALUES),
];
const STAGE_FIELDS = [
  'name',
  'after',
  'durationsSeconds',
  'demand',
  'require',
  'gang',
  'lend',
  'estimateSeconds',
];
const SHARE_FIELDS = ['cpu', 'memory', 'disk'];

/** @throws FieldProblem at the first invalid field */
export function parseJob(value: unknown): TraceJob {
  const fields = checkObject(value, JOB_FIELDS, 'the job');
  const submitSeconds = check(fields.submitSeconds, SECONDS, 'submitSeconds');
  if ((fields.durationsSeconds === undefined) === (fields.stages === undefined)) {
    throw new FieldProblem(
      `the job has ${fields.stages === undefined ? 'neither' : 'both'} durationsSeconds ${fields.stages === undefined ? 'nor' : 'and'} stages`,
      'use one of them',
    );
  }
  const { durationsSeconds, stages } =
    fields.stages === undefined
      ? { durationsSeconds: checkDurations(fields.durationsSeconds, 'durationsSeconds'), stages: undefined }
      : parseStages(fields.stages);
  const optional: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(OPTIONAL_VALUES)) {
    if (fields[name] !== undefined) optional[name] = check<unknown>(fields[name], kind, name);
  }
  const job: TraceJob = {
    submitSeconds,
    durationsSeconds,
    meanSeconds:
      fields.meanSeconds === undefined
        ? meanOf(durationsSeconds)
        : check(fields.meanSeconds, SECONDS, 'meanSeconds'),
    ...optional,
    ...present({ stages }),
    ...(fields.prefer === undefined ? {} : { prefer: checkAttributes(fields.prefer, 'prefer') }),
    ...(fields.require === undefined ? {} : { require: checkAttributes(fields.require, 'require') }),
    ...(fields.demand === undefined ? {} : { demand: checkDemand(fields.demand, 'demand') }),
    ...(fields.machineShare === undefined ? {} : { machineShare: parseShare(fields.machineShare) }),
  };
  checkGangs(job);
  return job;
}

/** Rejects a gang larger than the job's maximum of running tasks, because it would wait forever. */
function checkGangs({ maxRunning = Number.POSITIVE_INFINITY, ...job }: TraceJob): void {
  const all: readonly Pick<TraceStage, 'tasks' | 'gang'>[] = job.stages ?? [
    { tasks: job.durationsSeconds.length },
  ];
  for (const { tasks, gang = job.gang } of all)
    if (gang === true && tasks > maxRunning)
      throw new FieldProblem(
        `maxRunning is ${maxRunning}, but all ${tasks} tasks of a gang start together`,
        'omit one of them',
      );
}

function parseStages(value: unknown): Pick<TraceJob, 'durationsSeconds' | 'stages'> {
  const list = check(value, LIST, 'stages');
  const places = new Map<string, number>();
  const stages = list.map((each, i): StageInFile & { readonly names: readonly string[] } => {
    const where = `stages[${i}]`;
    const fields = checkObject(each, STAGE_FIELDS, where);
    const name = check(fields.name, NAME, `${where}.name`);
    if (places.has(name)) {
      throw new FieldProblem(`two stages have the name '${name}'`, 'use unique stage names');
    }
    places.set(name, i);
    const durationsSeconds = checkDurations(fields.durationsSeconds, `${where}.durationsSeconds`);
    if (durationsSeconds.every((seconds) => seconds === 0))
      throw new FieldProblem(
        `${where} takes 0 s`,
        'a stage needs a duration: remove it, or set the durations of its tasks',
      );
    const optional = {
      demand: fields.demand === undefined ? undefined : checkDemand(fields.demand, `${where}.demand`),
      require: fields.require === undefined ? undefined : checkAttributes(fields.require, `${where}.require`),
      gang: fields.gang === undefined ? undefined : check(fields.gang, FLAG, `${where}.gang`),
      lend: fields.lend === undefined ? undefined : check(fields.lend, FLAG, `${where}.lend`),
      estimateSeconds:
        fields.estimateSeconds === undefined
          ? undefined
          : check(fields.estimateSeconds, STAGE_SECONDS, `${where}.estimateSeconds`),
    };
    const names = check(fields.after ?? [], NAMES, `${where}.after`).map((each, place) =>
      check(each, NAME, `${where}.after[${place}]`),
    );
    return { name, after: [], names, durationsSeconds, ...present(optional) };
  });
  const linked = stages.map(({ names, ...stage }, i) => ({
    ...stage,
    after: names.map((name, place) => {
      const parent = places.get(name);
      if (parent !== undefined) return parent;
      throw new FieldProblem(
        `stages[${i}].after[${place}] is '${name}', which is not a stage of this job`,
        `its stages are ${[...places.keys()]
          .join(', ')
          .slice(0, 200)
          .replace(/\p{Cc}/gu, '\ufffd')}`,
      );
    }),
  }));
  const ordered = inRunningOrder(linked);
  if ('cycle' in ordered) {
    throw new FieldProblem(
      `stage '${ordered.cycle}' depends on itself, directly or through others`,
      'remove the cycle',
    );
  }
  return ordered;
}

function parseShare(value: unknown): MachineShare {
  const fields = checkObject(value, SHARE_FIELDS, 'machineShare');
  return {
    cpu: check(fields.cpu, AMOUNT, 'machineShare.cpu'),
    memory: check(fields.memory, AMOUNT, 'machineShare.memory'),
    disk: check(fields.disk, AMOUNT, 'machineShare.disk'),
  };
}
