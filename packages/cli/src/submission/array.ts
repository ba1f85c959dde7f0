import { InputError, LIMITS } from '@goshawk/core';

/**
 * Parses the values of --array, such as `1-100:2`, `5` or `1,3,7-9`, in the given order.
 *
 * @throws InputError if it is invalid or has more values than a job may have tasks
 */
export function parseArray(text: string): number[] {
  const ranges = text.split(',').map((part) => parseRange(part.trim(), text));
  const count = ranges.reduce((sum, { first, last, step }) => sum + Math.floor((last - first) / step) + 1, 0);
  if (count > LIMITS.tasksPerJobMax) {
    throw new InputError(
      'bad-array',
      `--array: ${text} has ${count} values; a job has at most ${LIMITS.tasksPerJobMax} tasks`,
      'split it into several jobs',
    );
  }
  const values: number[] = [];
  for (const { first, last, step } of ranges) {
    for (let value = first; value <= last; value += step) values.push(value);
  }
  return values;
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

function parseRange(part: string, text: string): Range {
  const match = /^(\d{1,15})(?:-(\d{1,15})(?::(\d{1,15}))?)?$/.exec(part);
  if (match === null) {
    throw new InputError(
      'bad-array',
      `--array: ${JSON.stringify(part)} in ${JSON.stringify(text)} is not a range of whole numbers`,
      'write 1-100, 1-100:2 (every second number) or 1,3,7-9',
    );
  }
  const first = Number(match[1]);
  const last = Number(match[2] ?? match[1]);
  const step = Number(match[3] ?? 1);
  if (last < first) {
    throw new InputError('bad-array', `--array: ${part} ends before it begins`, `write ${last}-${first}`);
  }
  if (step === 0)
    throw new InputError('bad-array', `--array: the step of ${part} is 0`, 'use a step of at least 1');
  return { first, last, step };
}
