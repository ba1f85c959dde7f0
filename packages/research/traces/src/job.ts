import { type GivenFacts, type Millis, meanOf, type Priority, present, type Resources } from '@goshawk/core';

/** One job of a workload, as in a trace. Times are in seconds, as on disk. */
export interface TraceJob extends GivenFacts {
  /** When the job is submitted, in seconds since the start of the trace. */
  readonly submitSeconds: number;
  /** Run time of each task, in task order. Never empty. Shared between readers, so it must not be modified. */
  readonly durationsSeconds: Float64Array;
  /**
   * Mean task run time, which an exact estimator would give: the value in the file if there is one (the authors'
   * simulator uses it as the estimate), else the mean of the durations.
   */
  readonly meanSeconds: number;
  readonly name?: string;
  readonly user?: string;
  /** Name shared by all runs of a recurring job. */
  readonly logicalName?: string;
  /** Absent for a job with one stage. Each stage has the `tasks` durations that follow those of the previous one. */
  readonly stages?: readonly TraceStage[];
  /** The submitter's estimate of the mean task run time. */
  readonly estimateSeconds?: number;
  /** Demand of each task, unless its stage has another. */
  readonly demand?: Resources;
  /** Request of each task as a share of a machine, in a trace without machine sizes. */
  readonly machineShare?: MachineShare;
  /** Google's scheduling class: from 0, not latency-sensitive, to 3, user-facing. */
  readonly schedulingClass?: number;
  /** Deadline from submission. */
  readonly deadlineSeconds?: number;
  /** Preferred attributes of workers; alternatives are comma-separated. */
  readonly prefer?: Readonly<Record<string, string>>;
  /** Required attributes of workers, in the same form, unless a stage overrides them. */
  readonly require?: Readonly<Record<string, string>>;
  /** How many times longer tasks run on workers without the preferred attributes. */
  readonly slowdown?: number;
  /** Whether the tasks of each stage start together or not at all, under policies that start gangs. */
  readonly gang?: boolean;
  /** Whether its running tasks may pause while others use their CPUs. Default: true. */
  readonly lend?: boolean;
  /** Share relative to other jobs. */
  readonly weight?: number;
  readonly priority?: Priority;
  /** How many times a failed task is run again. */
  readonly retries?: number;
  /** Average delay before the first retry of a task; doubles with each retry. */
  readonly retryBackoffSeconds?: number;
  /** A task that runs longer is killed and fails. */
  readonly timeoutSeconds?: number;
  /** Time after the first start at which remaining tasks are killed and fail. */
  readonly timeLimitSeconds?: number;
  /** Maximum number of the job's tasks that run at a time. */
  readonly maxRunning?: number;
  /** Time from submission to the first start on the traced cluster; a simulation has different waits. */
  readonly waitSeconds?: number;
}

export interface TraceStage {
  readonly name: string;
  /** Indices of the stages that must complete first; always smaller than this stage's index. */
  readonly after: readonly number[];
  /** Number of tasks, at least one. The stages' tasks add up to the job's. */
  readonly tasks: number;
  /** Demand that overrides the job's. */
  readonly demand?: Resources;
  readonly require?: Readonly<Record<string, string>>;
  /** Settings that override the job's. */
  readonly gang?: boolean;
  readonly lend?: boolean;
  /** The submitter's estimate of the mean run time of its tasks; overrides the job's. */
  readonly estimateSeconds?: number;
}

/** Fractions of the capacity of the largest machine. */
export interface MachineShare {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

/** Jobs that can be iterated once; `for await` accepts both forms. */
export type Jobs = Iterable<TraceJob> | AsyncIterable<TraceJob>;

/** Maps each job, keeping the form: jobs in memory are not awaited. */
export function mapJobs<T>(jobs: Jobs, of: (job: TraceJob) => T): Iterable<T> | AsyncIterable<T> {
  return Symbol.asyncIterator in jobs ? mapStreamed(jobs, of) : mapHeld(jobs, of);
}

function* mapHeld<T>(jobs: Iterable<TraceJob>, of: (job: TraceJob) => T): Generator<T> {
  for (const job of jobs) yield of(job);
}

async function* mapStreamed<T>(jobs: AsyncIterable<TraceJob>, of: (job: TraceJob) => T): AsyncGenerator<T> {
  for await (const job of jobs) yield of(job);
}

/** Creates a job whose mean is computed from its durations. */
export function jobOf(submitSeconds: number, durationsSeconds: Float64Array): TraceJob {
  return { submitSeconds, durationsSeconds, meanSeconds: meanOf(durationsSeconds) };
}

/** Replaces the job's estimates of stages by these; undefined means no estimate. */
export function withStageEstimates(job: TraceJob, stagesMs: readonly Millis[] = []): TraceJob {
  if (job.stages === undefined) return job;
  const stages = job.stages.map(({ estimateSeconds: _, ...stage }, place) => {
    const ms = stagesMs[place] ?? 0;
    return ms > 0 ? { ...stage, estimateSeconds: ms / 1_000 } : stage;
  });
  return { ...job, stages };
}

/** Returns the job for a policy without gangs: its tasks start individually. */
export function withoutGangs(job: TraceJob): TraceJob {
  const { gang, ...rest } = job;
  if (!gang && job.stages?.some((stage) => stage.gang) !== true) return job;
  return { ...rest, ...present({ stages: job.stages?.map(({ gang: _, ...stage }) => stage) }) };
}

/** Collects an iterable into an array, for workloads that fit in memory. */
export async function collect<T>(items: Iterable<T> | AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
