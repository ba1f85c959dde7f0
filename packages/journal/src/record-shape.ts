import {
  CLASSES,
  ENDS,
  type JobRecord,
  LIMITS,
  NO_USAGE,
  OUTCOMES,
  PRIORITIES,
  ROUTES,
  SCOPES,
} from '@goshawk/core';

/** Returns the path of the first impossible part of a value, '' for the value itself; undefined: it is possible. */
type Check = (value: unknown) => string | undefined;

/** The last time that a date can express. ms since 1970 */
const TIME_MAX_MS = 8.64e15;

/**
 * Returns the name of the first field of a record that has a value which no version of Goshawk writes, such as after
 * tampering; undefined: there is none. The scheduler relies on these fields. Unknown fields may have any value.
 */
export function impossibleField(record: Readonly<Record<string, unknown>>): string | undefined {
  const { kind, job, at } = record as unknown as JobRecord;
  const isOfNoJob = kind === 'schedulers' || kind === 'usage';
  if (!Number.isSafeInteger(job) || job < 0 || (job === 0) !== isOfNoJob) return 'job';
  if (!(Math.abs(at) <= TIME_MAX_MS)) return 'at';
  const path = FIELDS[kind](record);
  if (path !== undefined || kind !== 'accepted') return path;
  const { spec, stagesMs } = record as { spec: { stages: readonly TaskedStage[] }; stagesMs?: unknown[] };
  const { stages } = spec;
  if (stages.length === 0) return 'spec.stages';
  if (stages.reduce((sum, { tasks }) => sum + countOf(tasks), 0) > LIMITS.tasksPerJobMax)
    return 'spec.stages';
  const wrong = stages.findIndex(({ after, inputs }, index) =>
    [...after, ...(inputs ?? [])].some((other) => other >= index),
  );
  if (wrong >= 0) return `spec.stages[${wrong}].after`;
  return stagesMs == null || stagesMs.length === stages.length ? undefined : 'stagesMs';
}

interface TaskedStage {
  readonly after: readonly number[];
  readonly inputs?: readonly number[] | null;
  readonly tasks: { readonly count?: number; readonly each?: readonly []; readonly sleepsMs?: readonly [] };
}

function countOf({ count, each, sleepsMs }: TaskedStage['tasks']): number {
  return count ?? (each ?? sleepsMs)!.length;
}

// ---- values

const that =
  (isPossible: (value: unknown) => boolean): Check =>
  (value) =>
    isPossible(value) ? undefined : '';

const text = that((value) => typeof value === 'string');
const flag = that((value) => typeof value === 'boolean');
const finite = that(Number.isFinite);
const integer = that(Number.isSafeInteger);
const amount = that((value) => Number.isFinite(value) && (value as number) >= 0);
const countTo = (max: number): Check =>
  that((value) => Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max);
const count = countTo(Number.MAX_SAFE_INTEGER);
const task = countTo(LIMITS.tasksPerJobMax);
const time = that((value) => typeof value === 'number' && Math.abs(value) <= TIME_MAX_MS);
const oneOf = (...values: readonly string[]): Check => that((value) => values.includes(value as string));

/** MessagePack writes `undefined` as null. */
const optional =
  (of: Check): Check =>
  (value) =>
    value == null ? undefined : of(value);

const list =
  (of: Check, lengthMax = Number.POSITIVE_INFINITY): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length > lengthMax) return '';
    for (let index = 0; index < value.length; index++) {
      const path = of(value[index]);
      if (path !== undefined) return joined(`[${index}]`, path);
    }
    return undefined;
  };

const object =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) => {
    if (!isObject(value)) return '';
    for (const [name, of] of Object.entries(fields)) {
      const path = of(value[name]);
      if (path !== undefined) return joined(name, path);
    }
    return undefined;
  };

const map =
  (of: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every((each) => of(each) === undefined) ? undefined : '';

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function joined(name: string, path: string): string {
  return path === '' || path.startsWith('[') ? name + path : `${name}.${path}`;
}

// ---- records

const range = object({ first: task, last: task });

const sleep = object({ sleep: amount });
const command = object({ exec: list(text), cwd: optional(text), env: optional(map(text)) });
const module = object({ module: text, export: optional(text), cwd: optional(text) });
const payload: Check = (value) => {
  if (!isObject(value)) return '';
  if ('sleep' in value) return sleep(value);
  return 'exec' in value ? command(value) : module(value);
};

const counted = object({ count: task, run: payload });
const listed = object({ each: list(payload) });
const sleeps = object({ sleepsMs: list(amount) });
const tasks: Check = (value) => {
  if (!isObject(value)) return '';
  if ('count' in value) return counted(value);
  return 'each' in value ? listed(value) : sleeps(value);
};

const stage = object({
  name: text,
  after: list(count),
  tasks,
  inputs: optional(list(count)),
  demand: map(amount),
  requires: optional(map(text)),
  estimateMs: optional(amount),
  gang: optional(flag),
  lend: optional(flag),
});

const spec = object({
  name: text,
  user: optional(text),
  logicalName: optional(text),
  seed: optional(text),
  stages: list(stage, LIMITS.stagesPerJobMax),
  estimateMs: optional(amount),
  retries: count,
  retryBackoffMs: optional(amount),
  retryOn: optional(list(integer)),
  timeoutMs: optional(amount),
  openMs: optional(amount),
  timeLimitMs: optional(amount),
  after: optional(list(text)),
  afterOk: optional(list(text)),
  hold: optional(flag),
  begin: optional(object({ afterMs: optional(amount), at: optional(time) })),
  maxRunning: optional(count),
  deadlineMs: optional(amount),
  weight: amount,
  priority: optional(oneOf(...PRIORITIES)),
  value: optional(amount),
  prefer: optional(map(text)),
  preemptible: optional(flag),
  slowdown: optional(amount),
  notify: optional(text),
  retryOf: optional(object({ job: text, tasks: list(range) })),
});

const outcome = object({
  kind: oneOf(...OUTCOMES),
  errorCode: text,
  errorMessage: text,
  exitCode: optional(integer),
  signal: optional(text),
  gpus: optional(list(text)),
  maxRssBytes: optional(amount),
});

const route = object({ by: oneOf(...ROUTES), over: oneOf(...SCOPES) });
const classified = {
  class: oneOf(...CLASSES),
  classifiedBy: text,
  route,
  stagesMs: optional(list(amount, LIMITS.stagesPerJobMax)),
};

const usageRow = object({
  day: countTo(TIME_MAX_MS / 86_400_000),
  user: optional(text),
  project: optional(text),
  name: optional(text),
  // A correction may subtract.
  ...Object.fromEntries(Object.keys(NO_USAGE).map((sum) => [sum, finite])),
});

const FIELDS: Readonly<Record<JobRecord['kind'], Check>> = {
  accepted: object({ key: optional(text), spec, ...classified, project: optional(text) }),
  classified: object({ ...classified, estimateMs: optional(amount) }),
  attempt: object({ task, attempt: count, outcome, worker: text, runMs: amount }),
  cancelled: object({ reason: optional(text) }),
  ended: object({ state: oneOf(...ENDS), period: optional(count) }),
  forgotten: object({}),
  resumed: object({}),
  declined: object({ task, attempt: count }),
  schedulers: object({ names: list(text) }),
  passed: object({ after: text }),
  updated: object({ held: flag, beginAt: optional(time), priority: oneOf(...PRIORITIES) }),
  retried: object({
    key: text,
    choice: object({ failedOnly: optional(flag), tasks: optional(list(range)) }),
  }),
  appended: object({ first: task, tasks: list(payload), digest: text, close: flag }),
  tasksCancelled: object({ tasks: list(range) }),
  usage: object({
    period: optional(count),
    rows: list(usageRow),
    of: optional(object({ tag: text, epoch: count })),
  }),
};
