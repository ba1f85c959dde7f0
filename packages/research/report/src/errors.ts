import { InputError } from '@goshawk/core';

/** Contradictory measurements, which are a fault of the measurement and not of the policy. */
export class MeasurementError extends Error {
  override name = 'MeasurementError';
}

/** Runs that cannot be compared, or a page that lacks its data. */
export class ComparisonError extends InputError {
  override name = 'ComparisonError';

  constructor(message: string) {
    super('bad-comparison', `compare: ${message}`);
  }
}
