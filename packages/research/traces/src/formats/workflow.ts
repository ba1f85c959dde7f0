import { quote, type WorkloadError } from '../errors.js';
import { jobOf, type TraceJob } from '../job.js';
import type { Tally } from '../tally.js';
import type { JsonPath } from './json-document.js';
import { inRunningOrder, type StageInFile } from './stages.js';

/** A task of a workflow, before its parents are resolved. */
export interface WorkflowTask extends Omit<StageInFile, 'after'> {
  /** An alternative name, used by references to parents. */
  readonly alias?: string | undefined;
  readonly parents: readonly string[];
  readonly children: readonly string[];
  /** Path in the file, for errors. */
  readonly path: JsonPath;
}

interface Source {
  fault(path: JsonPath, problem: string, advice: string): WorkloadError;
}

/** Maximum number of tasks, each of which becomes a stage. */
const WORKFLOW_TASKS_MAX = 100_000;

/** @throws WorkloadError made by `fault` if a workflow has too many tasks */
export function checkTasks(tasks: number, fault: (problem: string, advice: string) => WorkloadError): void {
  if (tasks > WORKFLOW_TASKS_MAX)
    throw fault(`the workflow has more than ${WORKFLOW_TASKS_MAX} tasks`, 'use a part of it');
}

/** A plan cannot contain a stage of 0 s. */
const SECONDS_MIN = 1e-6;

/**
 * Returns the job of a workflow, submitted at 0 s.
 *
 * @throws WorkloadError if names are not unique, a parent does not exist, or tasks form a cycle
 */
export function jobOfWorkflow(
  tasks: readonly WorkflowTask[],
  features: Pick<TraceJob, 'name'>,
  source: Source,
  tally: Tally,
): TraceJob {
  if (tasks.length === 0) throw source.fault([], 'the workflow has no tasks', 'use another file');
  const placeOf = new Map<string, number>();
  for (const [place, { alias }] of tasks.entries()) if (alias !== undefined) placeOf.set(alias, place);
  const names = new Set<string>();
  for (const [place, { name, path }] of tasks.entries()) {
    if (names.has(name))
      throw source.fault(path, `two tasks have the id ${quote(name)}`, 'each needs a unique id');
    names.add(name);
    placeOf.set(name, place);
  }
  const after = tasks.map((): number[] => []);
  for (const [place, { name, parents, children, path }] of tasks.entries()) {
    const found = (other: string): number => {
      const at = placeOf.get(other);
      if (at !== undefined) return at;
      throw source.fault(
        path,
        `${quote(other)}, which task ${quote(name)} links to, does not exist`,
        'add the task, or remove the link',
      );
    };
    for (const parent of parents) after[place]!.push(found(parent));
    for (const child of children) after[found(child)]!.push(place);
  }
  const stages = tasks.map(({ name, durationsSeconds, demand }, place): StageInFile => {
    const isInstant = durationsSeconds.every((seconds) => seconds === 0);
    if (isInstant) tally.add({ code: 'stages-of-no-time', what: 'tasks of 0 s: taken as 1 µs' });
    return {
      name,
      after: after[place]!,
      durationsSeconds: isInstant ? durationsSeconds.map(() => SECONDS_MIN) : durationsSeconds,
      ...(demand === undefined ? {} : { demand }),
    };
  });
  const ordered = inRunningOrder(stages);
  if ('cycle' in ordered) {
    const place = placeOf.get(ordered.cycle)!;
    throw source.fault(
      tasks[place]!.path,
      `task ${quote(ordered.cycle)} depends on itself`,
      'remove the cycle',
    );
  }
  return { ...jobOf(0, ordered.durationsSeconds), ...features, stages: ordered.stages };
}
