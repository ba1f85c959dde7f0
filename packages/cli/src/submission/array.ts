import { InputError, LIMITS } from '@goshawk/core';

/**
 * Parses the values of --array, such as `1-100:2`, `5`, `1,3,7-9` or `001-100`, in the given order. Leading
 * zeros are kept: then all values of a range have the width of its longer end, as in `{001..100}` of a shell.
 *
 * @throws InputError if it is invalid or has more values than a job may have tasks
 */
export function parseArray(text: string): string[] {
  const ranges = text.split(',').map((part) => parseRange(part.trim(), text));
  const count = ranges.reduce((sum, { first, last, step }) => sum + Math.floor((last - first) / step) + 1, 0);
  if (count > LIMITS.tasksPerJobMax) {
    throw new InputError(
      'bad-array',
      `--array: ${text} has ${count} values; a job has at most ${LIMITS.tasksPerJobMax} tasks`,
      'split it into several jobs',
    );
  }
  const values: string[] = [];
  for (const { first, last, step, width } of ranges) {
    for (let value = first; value <= last; value += step) values.push(`${value}`.padStart(width, '0'));
  }
  return values;
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** Minimum number of digits; 0 without leading zeros. */
  readonly width: number;
}

function parseRange(part: string, text: string): Range {
  const match = /^(\d{1,15})(?:-(\d{1,15})(?::(\d{1,15}))?)?$/.exec(part);
  if (match === null) {
    throw new InputError(
      'bad-array',
      `--array: ${JSON.stringify(part)}${part === text ? '' : ` in ${JSON.stringify(text)}`} is not a range of whole numbers`,
      part.includes('%')
        ? 'limit the tasks that run at the same time with --max-running'
        : 'write 1-100, 1-100:2 (every second number) or 1,3,7-9',
    );
  }
  const [, from = '', to = from] = match;
  const [first, last] = [Number(from), Number(to)];
  const step = Number(match[3] ?? 1);
  if (last < first) {
    throw new InputError('bad-array', `--array: ${part} ends before it begins`, `write ${last}-${first}`);
  }
  if (step === 0)
    throw new InputError('bad-array', `--array: the step of ${part} is 0`, 'use a step of at least 1');
  const isPadded = [from, to].some((end) => /^0\d/.test(end));
  return { first, last, step, width: isPadded ? Math.max(from.length, to.length) : 0 };
}
