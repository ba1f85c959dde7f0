import { flag, list, optional, record } from '../fields/fields.js';
import { taskRange } from '../fields/records.js';
import { LIMITS } from '../limits.js';

export const retryChoiceFields = {
  /** Only failed tasks, and stages that could not run because of them; otherwise cancelled tasks, too. */
  failedOnly: optional(flag),
  /** Only these tasks. */
  tasks: optional(list(taskRange, LIMITS.taskRangesMax)),
};

const retryChoice = record(retryChoiceFields);

/** Selects the tasks of an ended job to run again; by default all that did not complete. */
export type RetryChoice = NonNullable<(typeof retryChoice)['infer']>;
