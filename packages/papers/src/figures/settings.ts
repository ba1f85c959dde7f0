/** Settings of a run, by the names of the options of `goshawk simulate` and `goshawk replay`. */
export interface RunSettings {
  readonly policy?: string;
  /** Options of the central policy, NAME=VALUE. */
  readonly set?: readonly string[];
  readonly workers?: number;
  /** Seconds, or p90. */
  readonly cutoff?: string;
  /** A fraction, auto or none. */
  readonly shortPartition?: string;
  readonly stealCap?: number;
  readonly stealRetry?: 'never' | 'backoff';
  readonly cancel?: 'lazy' | 'proactive';
  readonly estimator?: string;
  /** Whether a duration belongs to its task, or to whichever task of the job starts next. */
  readonly durations?: 'start' | 'task';
  /** A share, or adaptive. */
  readonly pilotRatio?: string;
  readonly thinLimit?: number;
  readonly schedulers?: number;
  /** A fraction of the slots, auto or none. */
  readonly reserve?: string;
  readonly central?: boolean;
  readonly partition?: boolean;
  readonly stealing?: boolean;
  /** For jobs with deadlines: slack in percent of the run time. */
  readonly slack?: number;
  /** Chance that a job gives away what it need not use now. */
  readonly altruism?: number;
  /** Estimates are off by a factor that is uniform in 1 ± this. */
  readonly estimateError?: number;
  /** For planned figures: the workload at this place, if it differs. */
  readonly generator?: string;
  /** For planned figures: jobs per hour, reached by stretching run times. */
  readonly rate?: number;
  /**
   * For planned figures, instead of learned run times (3Sigma §6.3): a normal distribution whose mean is off
   * by this share…
   */
  readonly shift?: number;
  /** …and with this standard deviation over the mean; 0: one number. */
  readonly spread?: number;
  /** Past jobs of each program that the predictor has seen; all that there were unless given. */
  readonly samples?: number;
  /** Task time submitted over what the slots can do meanwhile; simulated, arrivals are stretched to make it. */
  readonly load?: number;
  /** Properties of workers, as `--attribute` has them. */
  readonly attribute?: readonly string[];
  /** For live figures: divisor of all times, unless `--for` sets the duration of a policy. */
  readonly scale?: number;
}

/** Set-up of a modelled packing figure: each of its variants is a policy. */
export interface PackingSetUp {
  readonly servers: number;
  /** J of the partition. */
  readonly j: number;
  /** Meaning of the places of the axis: times of one run, loads, or divisors of arrival times. */
  readonly places: 'slots' | 'load' | 'speed';
  /** Shares of a server; undefined: the trace says. */
  readonly sizes?:
    | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
    | { readonly kind: 'values'; readonly values: readonly number[]; readonly weights: readonly number[] };
  /** Tasks a slot, where the places are times. */
  readonly rate?: number;
  /** Mean service, in slots. */
  readonly slots?: number;
  readonly service?: 'geometric' | 'fixed';
  /** Length of each run, in slots. */
  readonly until?: number;
  /** The mean queue is taken from here on. */
  readonly from?: number;
}
