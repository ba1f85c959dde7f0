import { LIMITS, type MessageOf } from '@goshawk/core';
import type { Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { ReadRecord } from '../job/task-reports.js';

/**
 * Returns the inputs from earlier stages, one `{"stage","index","value"}` per line in task order. These stages have
 * completed, so all tasks get equal inputs, and a later owner can read them again from the journal.
 */
export function inputsOf(
  job: Job,
  stage: Stage,
  readRecord: ReadRecord | undefined,
): MessageOf<'run'>['inputs'] {
  const { inputs } = stage.spec;
  if (inputs === undefined) return undefined;
  stage.inputs ??= linesOf(job, inputs, readRecord);
  return stage.inputs;
}

function linesOf(
  job: Job,
  stages: readonly number[],
  readRecord: ReadRecord | undefined,
): MessageOf<'run'>['inputs'] {
  const lines: string[] = [];
  let length = 0;
  for (const index of stages) {
    const { spec, first, count } = job.stages[index]!;
    for (let task = first; task < first + count; task++) {
      const value = job.history.reports.valueOf(task, readRecord) ?? null;
      const line = `${JSON.stringify({ stage: spec.name, index: task, value })}\n`;
      length += line.length;
      if (length > LIMITS.inputLengthMax) return tooLarge();
      lines.push(line);
    }
  }
  return { lines: lines.join('') };
}

function tooLarge(): MessageOf<'run'>['inputs'] {
  const problem = `the return values of the stages in "inputs" exceed ${LIMITS.inputLengthMax / 2 ** 20} MiB as JSON lines; return less, such as paths of files`;
  return { lines: '', problem };
}
