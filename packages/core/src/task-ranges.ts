import { InputError } from './errors.js';
import { LIMITS } from './limits.js';

/** Tasks from `first` to `last`, inclusively. */
export interface TaskRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Parses lists such as `3,7-9` to sorted ranges without overlaps.
 *
 * @throws InputError that names the invalid part
 */
export function parseTaskRanges(text: string): TaskRange[] {
  const ranges = text.split(',').map((part): TaskRange => {
    const [, from = '', to = from] = /^\s*(\d+)(?:\s*-\s*(\d+))?\s*$/.exec(part) ?? [];
    const range = { first: Number(from), last: Number(to) };
    if (from === '' || range.first > range.last || range.last >= LIMITS.tasksPerJobMax)
      throw new InputError(
        'bad-tasks',
        `'${part}' does not name any tasks`,
        'give task numbers and ranges, as in 3,7-9',
      );
    return range;
  });
  return requestedRanges(ranges);
}

/**
 * The same tasks in the fewest ranges, for one request.
 *
 * @throws InputError if there are too many ranges
 */
export function requestedRanges(ranges: readonly TaskRange[]): TaskRange[] {
  const merged = mergedRanges(ranges);
  if (merged.length <= LIMITS.taskRangesMax) return merged;
  throw new InputError(
    'bad-tasks',
    `${merged.length} separate ranges of tasks are too many for one request, which takes ${LIMITS.taskRangesMax}`,
    'name them in several requests',
  );
}

/** The same tasks in the fewest ranges, in ascending order. */
export function mergedRanges(ranges: readonly TaskRange[]): TaskRange[] {
  const merged: TaskRange[] = [];
  for (const range of [...ranges].sort((one, other) => one.first - other.first)) {
    const before = merged.at(-1);
    if (before === undefined || range.first > before.last + 1) merged.push(range);
    else if (range.last > before.last) merged[merged.length - 1] = { first: before.first, last: range.last };
  }
  return merged;
}

/** Formats ranges in the syntax of `parseTaskRanges`. */
export function formatTaskRanges(ranges: readonly TaskRange[]): string {
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}

/** Number of tasks in disjoint ranges. */
export function tasksInRanges(ranges: readonly TaskRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}
