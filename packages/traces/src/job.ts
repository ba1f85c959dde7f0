/** One job of a workload, as it stands in a trace. Times are in seconds, as on disk. */
export interface TraceJob {
  /** When the job is submitted, in seconds since the start of the trace. */
  readonly submitSeconds: number;
  /** Run time of each task, in task order. Never empty. Shared between readers: not to be written to. */
  readonly durationsSeconds: Float64Array;
  /**
   * Mean task run time: what an exact estimator would say. As the file states it where it does (the
   * authors' simulator estimates by that column), else the mean of the durations.
   */
  readonly meanSeconds: number;
  readonly name?: string;
  readonly user?: string;
  /** Name that stays the same from one run of a recurring job to the next. */
  readonly logicalName?: string;
}

/** Jobs in any form that can be walked once; `for await` takes both. */
export type Jobs = Iterable<TraceJob> | AsyncIterable<TraceJob>;

export function sum(values: Float64Array | readonly number[]): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return total;
}

/** A job whose mean is computed from its durations. */
export function jobOf(submitSeconds: number, durationsSeconds: Float64Array): TraceJob {
  return { submitSeconds, durationsSeconds, meanSeconds: sum(durationsSeconds) / durationsSeconds.length };
}

/** Everything that an iterable gives, as an array: for workloads that fit in memory. */
export async function collect<T>(items: Iterable<T> | AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
