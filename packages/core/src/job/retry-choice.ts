import { flag, list, optional, record } from '../fields/fields.js';
import { taskRange } from '../fields/records.js';
import { LIMITS } from '../limits.js';

export const retryChoiceFields = {
  /** Only tasks that failed, and stages that could not run because of them. Otherwise also tasks that were cancelled. */
  failedOnly: optional(flag),
  /** Only these tasks. */
  tasks: optional(list(taskRange, LIMITS.taskRangesMax)),
};

const retryChoice = record(retryChoiceFields);

/** Which tasks of an ended job run again. Without a field: all that did not complete. */
export type RetryChoice = NonNullable<(typeof retryChoice)['infer']>;
