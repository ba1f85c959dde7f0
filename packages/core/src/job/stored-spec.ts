import { checkedBy, isMapOf, isObject, problemInFields } from '../fields/check.js';
import {
  choice,
  count,
  countTo,
  type Field,
  type FieldKind,
  type Fields,
  flag,
  integer,
  list,
  number,
  optional,
  resources,
  text,
  view,
} from '../fields/fields.js';
import { line, ms, name, parentRun, taskRange } from '../fields/records.js';
import { LIMITS } from '../limits.js';
import { givenFields } from './facts.js';
import type { Payload } from './payload.js';
import { PRIORITIES } from './priority.js';
import type { JobSpec, StageSpec, TaskList } from './spec.js';

/** The last time that a date can express. ms since 1970 */
const TIME_MAX_MS = 8.64e15;

/** Wall clock, ms since 1970. */
export const time = checkedBy<number>((value) =>
  typeof value === 'number' && Math.abs(value) <= TIME_MAX_MS ? undefined : '',
);

const texts = checkedBy<Readonly<Record<string, string>>>((value) =>
  isMapOf(value, (each) => typeof each === 'string') ? undefined : '',
);

const PAYLOADS = {
  sleep: { sleep: number },
  exec: { exec: list(line, LIMITS.tasksPerJobMax), cwd: optional(line), env: optional(texts) },
  module: { module: line, export: optional(line), cwd: optional(line) },
} as const satisfies Record<string, Fields>;

/** A task's payload. Lists of equal ones are shared, so it is checked as it is, not copied. */
export const storedPayload = checkedBy<Payload>((value) => {
  if (!isObject(value)) return '';
  const kind = 'sleep' in value ? 'sleep' : 'exec' in value ? 'exec' : 'module';
  return problemInFields(PAYLOADS[kind], value);
});

const TASKS = {
  count: { count: countTo(LIMITS.tasksPerJobMax), run: storedPayload },
  each: { each: list(storedPayload, LIMITS.tasksPerJobMax) },
  sleepsMs: { sleepsMs: list(number, LIMITS.tasksPerJobMax) },
} as const satisfies Record<string, Fields>;

const tasks = checkedBy<TaskList>((value) => {
  if (!isObject(value)) return '';
  const kind = 'count' in value ? 'count' : 'each' in value ? 'each' : 'sleepsMs';
  return problemInFields(TASKS[kind], value);
});

// A field that is missing in one of these tables does not compile.

const STAGE: Readonly<Record<keyof StageSpec, FieldKind>> = {
  name,
  after: list(count, LIMITS.stagesPerJobMax),
  tasks,
  inputs: optional(list(count, LIMITS.stagesPerJobMax)),
  demand: resources,
  requires: optional(texts),
  estimateMs: optional(ms),
  gang: optional(flag),
  lend: optional(flag),
};

const SPEC: Readonly<Record<keyof JobSpec, FieldKind>> = {
  name,
  user: optional(name),
  logicalName: optional(name),
  seed: optional(line),
  stages: list({ kind: 'record', fields: STAGE } as Field<StageSpec>, LIMITS.stagesPerJobMax),
  estimateMs: optional(ms),
  retries: count,
  retryBackoffMs: optional(ms),
  retryOn: optional(list(integer, LIMITS.tasksPerJobMax)),
  timeoutMs: optional(ms),
  openMs: optional(ms),
  timeLimitMs: optional(ms),
  after: optional(list(name, LIMITS.tasksPerJobMax)),
  afterOk: optional(list(name, LIMITS.tasksPerJobMax)),
  hold: optional(flag),
  begin: optional(view({ afterMs: optional(ms), at: optional(time) })),
  maxRunning: optional(count),
  deadlineMs: optional(ms),
  weight: number,
  priority: optional(choice(...PRIORITIES)),
  ...givenFields,
  prefer: optional(texts),
  slowdown: optional(number),
  notify: optional(line),
  parent: optional(parentRun),
  traceparent: optional(text(64)),
  retryOf: optional(view({ job: name, tasks: list(taskRange, LIMITS.taskRangesMax) })),
};

/** A job as it is stored. */
export const storedSpec = checkedBy<JobSpec>((value) => {
  const path = problemInFields(SPEC, value);
  if (path !== undefined) return path;
  const { stages } = value as JobSpec;
  const count = stages.reduce((sum, stage) => sum + countOf(stage.tasks), 0);
  if (stages.length === 0 || stages.length > LIMITS.stagesPerJobMax || count > LIMITS.tasksPerJobMax)
    return 'stages';
  const wrong = stages.findIndex(({ after, inputs }, index) =>
    [...after, ...(inputs ?? [])].some((other) => other >= index),
  );
  return wrong < 0 ? undefined : `stages[${wrong}].after`;
});

function countOf(of: TaskList): number {
  return 'count' in of ? of.count : ('each' in of ? of.each : of.sleepsMs).length;
}
