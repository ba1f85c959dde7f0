import { present, type Resources } from '@goshawk/core';
import { jobOf, type TraceJob } from '../job.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { isSeconds, isTaskCount, MIB, TASKS_ADVICE, TASKS_MAX } from './fields.js';
import {
  isDocumentWith,
  type JsonDocument,
  type JsonPath,
  readJsonElements,
  UnreadFields,
} from './json-document.js';
import { inRunningOrder, type StageInFile } from './stages.js';
import type { TraceFormat } from './trace-format.js';

/**
 * A workload of YARN's Scheduler Load Simulator: consecutive JSON objects, one per job. Containers of one type and
 * size form a stage; reducers come after mappers.
 */
export const sls = {
  name: 'sls',
  sample: 'jobs.sls',
  isForeign: true,
  aJob: 'a job has `job.start.ms` and `job.tasks`',
  endings: ['.json'],
  recognises: (_, head) =>
    isDocumentWith(/"(am\.type|job\.tasks|job\.start\.ms)"\s*:/, head) || isRumen(head),
  read: readSls,
} as const satisfies TraceFormat;

/** @throws WorkloadError with file and line of the first error */
async function* readSls(file: string, tally = new Tally(), signal?: AbortSignal): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  const unread = new UnreadFields();
  for await (const document of readJsonElements(file, false, signal)) {
    if ((document.value as Readonly<Record<string, unknown>> | null)?.[RUMEN_FIELD] !== undefined)
      throw document.fault(
        document.path,
        'this is a trace of Rumen',
        'convert it with rumen2sls.sh of Hadoop',
      );
    const read = jobOfValue(document, document.value, document.path, tally, unread);
    for (let copy = 0; copy < (read?.copies ?? 0); copy++) {
      packer.add(read!.job);
      if (packer.isFull) yield packer.take();
    }
  }
  unread.tally(tally);
  yield packer.take();
}

const RUMEN_FIELD = 'mapTasks';

function isRumen(head: string): boolean {
  return isDocumentWith(/"mapTasks"\s*:/, head);
}

const JOB_FIELDS = new Set([
  'am.type',
  'yarn.sls.am.type',
  'job.count',
  'job.start.ms',
  'job.end.ms',
  'job.queue.name',
  'job.id',
  'job.user',
  'job.tasks',
]);
const TASK_FIELDS = new Set([
  'container.start.ms',
  'container.end.ms',
  'container.type',
  'container.memory',
  'container.memory-mb',
  'container.vcores',
  'container.yarn.io/gpu',
  'count',
  'container.duration.ms',
  'duration.ms',
]);
/** The simulated cluster, which may come before the jobs. */
const CLUSTER_FIELD = 'num.nodes';

/** Converts milliseconds to seconds; the file has this precision. */
function secondsOf(document: JsonDocument, value: unknown, path: JsonPath): number {
  return (
    document.number(
      value,
      path,
      (ms) => isSeconds(ms / 1_000),
      'it must be a number of milliseconds, at least 0',
    ) / 1_000
  );
}

function jobOfValue(
  document: JsonDocument,
  value: unknown,
  path: JsonPath,
  tally: Tally,
  unread: UnreadFields,
): { readonly job: TraceJob; readonly copies: number } | undefined {
  const job = document.object(value, path);
  if (job[CLUSTER_FIELD] !== undefined && job['job.tasks'] === undefined) return undefined;
  unread.note(job, JOB_FIELDS);
  const submit = secondsOf(document, job['job.start.ms'] ?? 0, [...path, 'job.start.ms']);
  if (job['job.start.ms'] === undefined)
    tally.add({ code: 'submissions-missing', what: 'jobs without job.start.ms: submitted at 0 s' });
  const copies = document.number(job['job.count'] ?? 1, [...path, 'job.count'], isTaskCount, TASKS_ADVICE);
  // The application masters `dag` and `stream` start all containers at once.
  const isOrdered = /^mapreduce$/i.test(
    document.text(job['am.type'] ?? job['yarn.sls.am.type'] ?? 'mapreduce', [...path, 'am.type']),
  );
  const groups = new Map<string, { type: string; demand: Resources | undefined; seconds: number[] }>();
  let count = 0;
  for (const [i, each] of document.list(job['job.tasks'] ?? [], [...path, 'job.tasks']).entries()) {
    const at = [...path, 'job.tasks', i];
    const task = document.object(each, at);
    unread.note(task, TASK_FIELDS);
    const tasks = document.number(task.count ?? 1, [...at, 'count'], isTaskCount, TASKS_ADVICE);
    count += tasks * copies;
    if (count > TASKS_MAX) throw document.fault(at, `the job has more than ${TASKS_MAX} tasks`, 'split it');
    const seconds = durationOf(document, task, at);
    const demand = demandOf(document, task, at);
    const type = document.text(task['container.type'] ?? 'map', [...at, 'container.type']);
    if (isOrdered && !/^(map|reduce)$/i.test(type))
      tally.add({
        code: 'types-unknown',
        what: 'tasks of a type other than map and reduce: they wait for no other task',
      });
    const key = JSON.stringify([type, demand]);
    const group = groups.get(key) ?? { type, demand, seconds: [] };
    groups.set(key, group);
    for (let copy = 0; copy < tasks; copy++) group.seconds.push(seconds);
  }
  if (groups.size === 0) {
    tally.add({ code: 'jobs-without-tasks', what: 'jobs without tasks: omitted' });
    return undefined;
  }
  const all = [...groups.values()];
  const maps = all.flatMap(({ type }, place) => (/^map$/i.test(type) ? [place] : []));
  const stages = all.map(
    ({ type, demand, seconds }, place): StageInFile => ({
      name: `${type}#${place}`.slice(-256),
      after: isOrdered && /^reduce$/i.test(type) ? maps : [],
      durationsSeconds: Float64Array.from(seconds),
      ...present({ demand }),
    }),
  );
  const ordered = inRunningOrder(stages);
  if ('cycle' in ordered) throw new RangeError(`stage ${ordered.cycle} depends on itself`);
  const text = (key: string): string | undefined =>
    job[key] === undefined || job[key] === null
      ? undefined
      : document.text(job[key], [...path, key]).slice(0, 256);
  if (text('job.queue.name') !== undefined)
    tally.add({ code: 'queues-lost', what: 'jobs with a queue: the queue is ignored' });
  const features = present({ name: copies > 1 ? undefined : text('job.id'), user: text('job.user') });
  const one = stages.length === 1 ? stages[0]! : undefined;
  return {
    copies,
    job:
      one === undefined
        ? { ...jobOf(submit, ordered.durationsSeconds), ...features, stages: ordered.stages }
        : { ...jobOf(submit, one.durationsSeconds), ...features, ...present({ demand: one.demand }) },
  };
}

function durationOf(document: JsonDocument, task: Readonly<Record<string, unknown>>, at: JsonPath): number {
  for (const key of ['container.duration.ms', 'duration.ms'])
    if (task[key] !== undefined) return secondsOf(document, task[key], [...at, key]);
  const start = secondsOf(document, task['container.start.ms'], [...at, 'container.start.ms']);
  const end = secondsOf(document, task['container.end.ms'], [...at, 'container.end.ms']);
  if (end >= start) return Math.round((end - start) * 1_000) / 1_000;
  throw document.wrong(
    [...at, 'container.end.ms'],
    task['container.end.ms'],
    'it must not be before the start',
  );
}

function demandOf(
  document: JsonDocument,
  task: Readonly<Record<string, unknown>>,
  at: JsonPath,
): Resources | undefined {
  const amount = (key: string, unit = 1): number | undefined =>
    task[key] === undefined
      ? undefined
      : unit *
          document.number(
            task[key],
            [...at, key],
            (value) => value >= 0 && value <= 1e9,
            'it must be a number of at least 0',
          ) || undefined;
  const demand = present({
    cpu: amount('container.vcores'),
    memory: amount('container.memory-mb', MIB) ?? amount('container.memory', MIB),
    gpu: amount('container.yarn.io/gpu'),
  });
  return Object.keys(demand).length === 0 ? undefined : (demand as Resources);
}
