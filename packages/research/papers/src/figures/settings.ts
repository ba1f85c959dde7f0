/** Settings of a run, by the names of the options of `goshawk simulate` and `goshawk replay`. */
export interface RunSettings {
  readonly policy?: string;
  /** Options of the central policy, NAME=VALUE. */
  readonly set?: readonly string[];
  readonly workers?: number;
  /** A number of seconds, or `p90`. */
  readonly cutoff?: string;
  /** A fraction of the workers, `auto` or `none`. */
  readonly shortPartition?: string;
  readonly stealCap?: number;
  readonly stealRetry?: 'never' | 'backoff';
  readonly cancel?: 'lazy' | 'proactive';
  readonly estimator?: string;
  /** Whether a duration belongs to a given task, or to the task of the job that starts next. */
  readonly durations?: 'start' | 'task';
  /** A fraction of the tasks, or `adaptive`. */
  readonly pilotRatio?: string;
  readonly thinLimit?: number;
  readonly schedulers?: number;
  /** A fraction of the slots, `auto` or `none`. */
  readonly reserve?: string;
  readonly central?: boolean;
  readonly partition?: boolean;
  readonly stealing?: boolean;
  /** Slack of deadlines, in percent of the run time. */
  readonly slack?: number;
  /** Probability that a job yields resources it does not need now. */
  readonly altruism?: number;
  /** Maximum relative error of estimates: each is multiplied by a factor that is uniform in 1 ± this. */
  readonly estimateError?: number;
  /** Planned figures: generator of the workload at this point, if it differs from that of the figure. */
  readonly generator?: string;
  /** Planned figures: jobs per hour, achieved by scaling run times. */
  readonly rate?: number;
  /**
   * Planned figures: relative error of the mean of the normal distribution that replaces learned run times
   * (3Sigma §6.3).
   */
  readonly shift?: number;
  /** Planned figures: standard deviation of that distribution over the true run time; 0: a point estimate. */
  readonly spread?: number;
  /** Number of past jobs of each program that the predictor has seen; default: all. */
  readonly samples?: number;
  /** Submitted task time over the capacity in that time. Arrivals are scaled to reach this load. */
  readonly load?: number;
  /** Attributes of workers, as in `--attribute`. */
  readonly attribute?: readonly string[];
  /** Live figures: divisor of all times, unless `--for` sets the duration of a policy. */
  readonly scale?: number;
}

/** Setup of a modelled packing figure, whose variants are policies. */
export interface PackingSetUp {
  readonly servers: number;
  /** J of the partition. */
  readonly j: number;
  /** Meaning of the points of the axis: times of one run, loads, or divisors of arrival times. */
  readonly places: 'slots' | 'load' | 'speed';
  /** Task sizes as fractions of a server; undefined: sizes of the trace. */
  readonly sizes?:
    | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
    | { readonly kind: 'values'; readonly values: readonly number[]; readonly weights: readonly number[] };
  /** Tasks per slot, if the points are times. */
  readonly rate?: number;
  /** Mean service time, in slots. */
  readonly slots?: number;
  readonly service?: 'geometric' | 'fixed';
  /** Length of each run, in slots. */
  readonly until?: number;
  /** The mean queue is measured from this slot on. */
  readonly from?: number;
}
