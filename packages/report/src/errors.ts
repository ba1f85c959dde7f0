/** A run in which some job neither completed nor failed. Its figures would flatter the policy, so there are none. */
export class UnfinishedRunError extends Error {
  readonly code = 'unfinished_run';
  readonly policy: string;
  readonly unfinished: number;

  constructor(policy: string, unfinished: number, submitted: number, examples: readonly string[]) {
    const which = examples.join(', ') + (unfinished > examples.length ? ', …' : '');
    super(
      `the run under ${policy} is not over: ${unfinished} of ${submitted} jobs neither completed nor failed ` +
        `(${which}); wait for them, or cancel them so that they count as failed`,
    );
    this.name = 'UnfinishedRunError';
    this.policy = policy;
    this.unfinished = unfinished;
  }
}

/** Measurements that contradict each other: a fault of whoever measured, never a property of the policy. */
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
