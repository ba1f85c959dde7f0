/** Measurements that contradict each other: a fault of the measuring, never a property of the policy. */
export class MeasurementError extends Error {
  readonly code = 'bad_measurement';

  constructor(message: string) {
    super(message);
    this.name = 'MeasurementError';
  }
}

/** Runs that cannot be set side by side in one comparison, or a page asked for without what it shows. */
export class ComparisonError extends Error {
  readonly code = 'bad_comparison';

  constructor(message: string) {
    super(message);
    this.name = 'ComparisonError';
  }
}
