import { concatenated, LIMITS, meanOf, present } from '@goshawk/core';
import type { MachineShare, TraceJob, TraceStage } from '../../job.js';
import {
  AMOUNT,
  check,
  checkAttributes,
  checkDemand,
  checkDurations,
  checkObject,
  FieldProblem,
  LIST,
  NAME,
  PRIORITY,
  SECONDS,
  SLOWDOWN,
  STAGE_SECONDS,
  WEIGHT,
  wholeNumber,
} from './fields.js';

/** Fields that a job may have and that are one value: checked, and taken as they are. */
const OPTIONAL_VALUES = {
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
  slowdown: SLOWDOWN,
} as const;

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
const STAGE_FIELDS = ['name', 'after', 'durationsSeconds', 'demand', 'require', 'estimateSeconds'];
const SHARE_FIELDS = ['cpu', 'memory', 'disk'];

/** @throws FieldProblem at the first field that is wrong */
export function parseJob(value: unknown): TraceJob {
  const fields = checkObject(value, JOB_FIELDS, 'the job');
  const submitSeconds = check(fields.submitSeconds, SECONDS, 'submitSeconds');
  if ((fields.durationsSeconds === undefined) === (fields.stages === undefined)) {
    throw new FieldProblem(
      `the job has ${fields.stages === undefined ? 'neither' : 'both'} durationsSeconds ${fields.stages === undefined ? 'nor' : 'and'} stages`,
      'give one of them',
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
  return {
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
}

function parseStages(value: unknown): { durationsSeconds: Float64Array; stages: readonly TraceStage[] } {
  const list = check(value, LIST, 'stages');
  const places = new Map<string, number>();
  const durations: Float64Array[] = [];
  const stages = list.map((each, i): TraceStage => {
    const where = `stages[${i}]`;
    const fields = checkObject(each, STAGE_FIELDS, where);
    const name = check(fields.name, NAME, `${where}.name`);
    if (places.has(name)) {
      throw new FieldProblem(`two stages are called '${name}'`, 'give each stage a name of its own');
    }
    const after = parseAfter(fields.after, places, `${where}.after`);
    places.set(name, i);
    const own = checkDurations(fields.durationsSeconds, `${where}.durationsSeconds`);
    if (own.every((seconds) => seconds === 0))
      throw new FieldProblem(
        `${where} takes 0 s`,
        'a stage takes time: leave it out, or say how long its tasks run',
      );
    durations.push(own);
    const demand = fields.demand === undefined ? undefined : checkDemand(fields.demand, `${where}.demand`);
    const estimateSeconds =
      fields.estimateSeconds === undefined
        ? undefined
        : check(fields.estimateSeconds, STAGE_SECONDS, `${where}.estimateSeconds`);
    return {
      name,
      after,
      tasks: own.length,
      ...present({ demand }),
      ...(fields.require === undefined
        ? {}
        : { require: checkAttributes(fields.require, `${where}.require`) }),
      ...present({ estimateSeconds }),
    };
  });
  return { durationsSeconds: concatenated(durations), stages };
}

/** Only stages that stand above can be named, so they never wait for each other in a circle. */
function parseAfter(value: unknown, places: ReadonlyMap<string, number>, where: string): readonly number[] {
  if (value === undefined) return [];
  return check(value, LIST, where).map((name, i) => {
    const place = places.get(check(name, NAME, `${where}[${i}]`));
    if (place !== undefined) return place;
    throw new FieldProblem(
      `${where}[${i}] is '${name}', which is no stage above this one`,
      'write the stages in an order in which they can run',
    );
  });
}

function parseShare(value: unknown): MachineShare {
  const fields = checkObject(value, SHARE_FIELDS, 'machineShare');
  return {
    cpu: check(fields.cpu, AMOUNT, 'machineShare.cpu'),
    memory: check(fields.memory, AMOUNT, 'machineShare.memory'),
    disk: check(fields.disk, AMOUNT, 'machineShare.disk'),
  };
}
