import type { Millis } from '../ids.js';
import { listAttributes } from '../needs/attributes.js';
import { present } from '../present.js';
import { givenFactsOf } from './facts.js';
import type { JobOutline, StageOutline } from './outline.js';
import { countTasks } from './parse.js';
import type { JobSpec, StageSpec } from './spec.js';

/** The outline of a job that was not submitted, for a forecast of its end. @param now wall clock */
export function plannedOutline(spec: JobSpec, now: Millis): JobOutline {
  const { begin } = spec;
  const beginsInMs = begin === undefined ? 0 : 'afterMs' in begin ? begin.afterMs : begin.at - now;
  return {
    job: 0,
    name: spec.name,
    user: spec.user,
    priority: spec.priority ?? 'normal',
    weight: spec.weight,
    maxRunning: spec.maxRunning,
    deadlineInMs: spec.deadlineMs,
    ...givenFactsOf(spec),
    prefers: listAttributes(spec.prefer),
    slowdown: spec.slowdown,
    ageMs: 0,
    beginsInMs: beginsInMs > 0 ? beginsInMs : undefined,
    endless: undefined,
    stages: spec.stages.map((stage) => outlineOf(stage, spec)),
  };
}

function outlineOf(stage: StageSpec, { estimateMs }: JobSpec): StageOutline {
  const { demand, requires, gang, lend, after } = stage;
  const sleeps = sleepsOf(stage.tasks);
  return {
    waiting: countTasks(stage.tasks),
    running: [],
    after,
    demand,
    requires: listAttributes(requires),
    completed: 0,
    meanMs: 0,
    deviationMs: 0,
    ...present({ gang, lend }),
    estimateMs: stage.estimateMs ?? estimateMs,
    declaredMs: sleeps?.mean,
    declaredDeviationMs: sleeps?.deviation,
  };
}

/** Mean and standard deviation of run times that are declared because all tasks only sleep. */
function sleepsOf(
  tasks: StageSpec['tasks'],
): { readonly mean: Millis; readonly deviation: Millis } | undefined {
  if ('run' in tasks) return 'sleep' in tasks.run ? { mean: tasks.run.sleep, deviation: 0 } : undefined;
  const sleeps =
    'sleepsMs' in tasks
      ? Array.from(tasks.sleepsMs)
      : tasks.each.flatMap((run) => ('sleep' in run ? [run.sleep] : []));
  if (sleeps.length === 0 || sleeps.length < countTasks(tasks)) return undefined;
  const mean = sleeps.reduce((sum, each) => sum + each, 0) / sleeps.length;
  const squares = sleeps.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return { mean, deviation: sleeps.length < 2 ? 0 : Math.sqrt(squares / (sleeps.length - 1)) };
}
