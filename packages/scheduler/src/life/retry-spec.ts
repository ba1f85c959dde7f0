import {
  type JobSpec,
  type Payload,
  present,
  type StageSpec,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import type { Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { Reopening } from '../job/reopening.js';

/** Placeholder for the payload of a task that the new job does not have. */
const OMITTED_PAYLOAD: Payload = { sleep: 0 };

/** Specifies a new job that runs these tasks of an ended job again and keeps their indexes. */
export function retrySpecOf(job: Job, { marks }: Reopening): JobSpec {
  const { hold: _held, begin: _begin, openMs: _open, parent: _parent, after, afterOk, ...spec } = job.spec;
  const stillAwaited = (ids: readonly string[] | undefined): readonly string[] | undefined => {
    const left = ids?.filter((id) => job.predecessors.pending.has(id));
    return left?.length ? left : undefined;
  };
  return {
    ...spec,
    ...present({ after: stillAwaited(after), afterOk: stillAwaited(afterOk) }),
    stages: job.stages.map((stage) => stageOf(stage, marks)),
    retryOf: { job: job.id, tasks: markedRanges(marks) },
  };
}

function stageOf(stage: Stage, marks: Uint8Array): StageSpec {
  const { spec, first, count } = stage;
  if ('count' in spec.tasks && spec.tasks.count === count) return spec;
  if ('sleepsMs' in spec.tasks) return spec;
  const each = Array.from({ length: count }, (_, at) =>
    marks[first + at] === 1 ? stage.payloadOf(first + at) : OMITTED_PAYLOAD,
  );
  return { ...spec, tasks: { each } };
}

function markedRanges(marks: Uint8Array): TaskRange[] {
  const ranges: TaskRange[] = [];
  for (let first = marks.indexOf(1); first >= 0; ) {
    const end = marks.indexOf(0, first);
    ranges.push({ first, last: (end < 0 ? marks.length : end) - 1 });
    first = end < 0 ? -1 : marks.indexOf(1, end);
  }
  return ranges;
}

/** Finds a stage that needs return values that only the old job has, and the stage that returned them. */
export function missingInputs(
  { stages }: Job,
  { marks }: Reopening,
): { readonly stage: string; readonly of: string } | undefined {
  const has = ({ first, count }: Stage, mark: number): boolean => {
    const at: TaskIndex = marks.indexOf(mark, first);
    return at >= 0 && at < first + count;
  };
  for (const stage of stages) {
    const of = has(stage, 1) ? stage.spec.inputs?.find((input) => has(stages[input]!, 0)) : undefined;
    if (of !== undefined) return { stage: stage.spec.name, of: stages[of]!.spec.name };
  }
  return undefined;
}
