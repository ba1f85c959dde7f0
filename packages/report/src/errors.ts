import { InputError } from '@goshawk/core';

/** Measurements that contradict each other: a fault of the measuring, never a property of the policy. */
export class MeasurementError extends Error {
  override name = 'MeasurementError';
}

/** Runs that cannot be set side by side in one comparison, or a page asked for without what it shows. */
export class ComparisonError extends InputError {
  override name = 'ComparisonError';

  constructor(message: string) {
    super('bad-comparison', `compare: ${message}`);
  }
}
