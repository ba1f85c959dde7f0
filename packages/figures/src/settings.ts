/** Settings of a run, by the names of the options of `goshawk simulate` and `goshawk replay`. */
export interface RunSettings {
  readonly policy?: string;
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
  readonly central?: boolean;
  readonly partition?: boolean;
  readonly stealing?: boolean;
  /** Live figures only: task time submitted over what the slots can do meanwhile. */
  readonly load?: number;
}
