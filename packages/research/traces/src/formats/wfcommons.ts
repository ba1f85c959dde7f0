import { present } from '@goshawk/core';
import { quote } from '../errors.js';
import { type PackedJobs, packed } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { isSeconds, SECONDS_ADVICE } from './fields.js';
import {
  isDocumentWith,
  type JsonDocument,
  type JsonPath,
  readJsonDocument,
  UnreadFields,
} from './json-document.js';
import type { TraceFormat } from './trace-format.js';
import { checkTasks, jobOfWorkflow, type WorkflowTask } from './workflow.js';

/** A workflow instance of WfCommons (WfFormat 1.1 to 1.6): one job, with a stage per task. */
export const wfcommons = {
  name: 'wfcommons',
  sample: 'workflow.json',
  isForeign: true,
  aJob: 'the workflow has tasks, each with a run time',
  endings: ['.json'],
  recognises: (_, head) => isDocumentWith(/"workflow"\s*:\s*\{/, head),
  read: readWfcommons,
} as const satisfies TraceFormat;

/** @throws WorkloadError with file and line of the first error */
async function* readWfcommons(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const document = await readJsonDocument(file, signal);
  const instance = document.object(document.value, []);
  const workflow = document.object(instance.workflow, ['workflow']);
  const name =
    typeof instance.name === 'string' && instance.name !== '' ? instance.name.slice(0, 256) : undefined;
  const unread = new UnreadFields();
  const stages =
    workflow.specification === undefined
      ? flatTasks(document, workflow, unread)
      : specified(document, workflow, unread);
  unread.tally(tally);
  yield packed([jobOfWorkflow(stages, present({ name }), document, tally)]);
}

type JsonObject = Readonly<Record<string, unknown>>;

const TASK_FIELDS = new Set([
  'id',
  'name',
  'parents',
  'children',
  'runtime',
  'runtimeInSeconds',
  'coreCount',
  'cores',
  'memory',
  'memoryInBytes',
]);

/** Reads tasks of versions 1.5 and later, which list dependencies and run times separately. */
function specified(
  document: JsonDocument,
  workflow: JsonObject,
  unread: UnreadFields,
): readonly WorkflowTask[] {
  const at: JsonPath = ['workflow', 'specification'];
  const specification = document.object(workflow.specification, at);
  const execution = document.object(workflow.execution, ['workflow', 'execution']);
  const runs = new Map<string, { readonly task: JsonObject; readonly path: JsonPath }>();
  const runsAt = ['workflow', 'execution', 'tasks'];
  for (const [i, each] of document.list(execution.tasks, runsAt).entries()) {
    const path = [...runsAt, i];
    const task = document.object(each, path);
    runs.set(document.text(task.id ?? task.name, [...path, 'id']), { task, path });
  }
  const tasksAt = [...at, 'tasks'];
  return tasksOf(document, specification.tasks, tasksAt).map((each, i) => {
    const path = [...tasksAt, i];
    const task = document.object(each, path);
    const id = document.text(task.id ?? task.name, [...path, 'id']);
    const run = runs.get(id);
    if (run === undefined)
      throw document.fault(
        path,
        `task ${quote(id)} is missing in workflow.execution`,
        'each task needs an entry there',
      );
    unread.note(task, TASK_FIELDS);
    unread.note(run.task, TASK_FIELDS);
    return taskOf(document, id, task, path, run.task, run.path);
  });
}

/** Reads tasks of versions up to 1.4. */
function flatTasks(
  document: JsonDocument,
  workflow: JsonObject,
  unread: UnreadFields,
): readonly WorkflowTask[] {
  const key = workflow.tasks === undefined && workflow.jobs !== undefined ? 'jobs' : 'tasks';
  const at = ['workflow', key];
  return tasksOf(document, workflow[key], at).map((each, i) => {
    const path = [...at, i];
    const task = document.object(each, path);
    unread.note(task, TASK_FIELDS);
    return taskOf(document, document.text(task.name ?? task.id, [...path, 'name']), task, path, task, path);
  });
}

function tasksOf(document: JsonDocument, value: unknown, path: JsonPath): readonly unknown[] {
  const tasks = document.list(value, path);
  checkTasks(tasks.length, (problem, advice) => document.fault(path, problem, advice));
  return tasks;
}

function taskOf(
  document: JsonDocument,
  id: string,
  task: JsonObject,
  path: JsonPath,
  run: JsonObject,
  runPath: JsonPath,
): WorkflowTask {
  const timeKey =
    run.runtimeInSeconds === undefined && run.runtime !== undefined ? 'runtime' : 'runtimeInSeconds';
  const seconds = document.number(run[timeKey], [...runPath, timeKey], isSeconds, SECONDS_ADVICE);
  const amount = (key: string): number | undefined =>
    run[key] === undefined || run[key] === null
      ? undefined
      : document.number(
          run[key],
          [...runPath, key],
          (value) => value >= 0 && value <= Number.MAX_SAFE_INTEGER,
          'it must be a number of at least 0',
        );
  const cpu = amount('coreCount') ?? amount('cores');
  // Before version 1.4, memory is in KB.
  const kilobytes = amount('memory');
  const memory = amount('memoryInBytes') ?? (kilobytes === undefined ? undefined : kilobytes * 1_000);
  const demand = Object.fromEntries(
    Object.entries(present({ cpu, memory })).filter(([, value]) => value !== undefined && value > 0),
  ) as Record<string, number>;
  const names = (key: 'parents' | 'children'): string[] =>
    document.list(task[key] ?? [], [...path, key]).map((name, i) => document.text(name, [...path, key, i]));
  const alias = [task.id, task.name].find((each) => typeof each === 'string' && each !== id) as
    | string
    | undefined;
  return {
    name: id.slice(0, 256),
    alias,
    parents: names('parents'),
    children: names('children'),
    path,
    durationsSeconds: Float64Array.of(seconds),
    ...(Object.keys(demand).length === 0 ? {} : { demand }),
  };
}
