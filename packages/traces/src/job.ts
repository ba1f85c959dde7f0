import { type Millis, meanOf, type Priority, present, type Resources } from '@goshawk/core';

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
  /** Absent for a job of one stage. Each holds the `tasks` durations that follow those of the one before. */
  readonly stages?: readonly TraceStage[];
  /** Mean task run time as the submitter believes it. */
  readonly estimateSeconds?: number;
  /** Demand of each task besides a slot, unless its stage has another. */
  readonly demand?: Resources;
  /** Request of each task as a share of a machine, in a trace without machine sizes. */
  readonly machineShare?: MachineShare;
  /** Google's: 0 for what nobody waits for, up to 3 for what serves users. */
  readonly schedulingClass?: number;
  /** Deadline from submission. */
  readonly deadlineSeconds?: number;
  /** Value of meeting the deadline, relative to other jobs. */
  readonly value?: number;
  /** Attributes that workers should have: one value, or several that will do, joined by commas. */
  readonly prefer?: Readonly<Record<string, string>>;
  /** Attributes that a worker must have, in the same form, unless a stage says otherwise. */
  readonly require?: Readonly<Record<string, string>>;
  /** How many times as long tasks take on workers without those that are preferred. */
  readonly slowdown?: number;
  /** The tasks of each stage start together or not at all, under policies that start gangs. */
  readonly gang?: boolean;
  /** Its running tasks may be ended for a job that would miss its deadline. */
  readonly preemptible?: boolean;
  /** Share relative to other jobs. */
  readonly weight?: number;
  readonly priority?: Priority;
  /** Runs of a task that may fail before the task has failed, less one. */
  readonly retries?: number;
  /** Before the first retry of a task, about; doubles with each. */
  readonly retryBackoffSeconds?: number;
  /** A task that runs longer is killed and has failed. */
  readonly timeoutSeconds?: number;
  /** Time after the first start at which remaining tasks are killed and fail. */
  readonly timeLimitSeconds?: number;
  /** At most so many tasks of the job run at a time. */
  readonly maxRunning?: number;
  /** Time from submission to the first start on the traced cluster; a simulation has different waits. */
  readonly waitSeconds?: number;
}

export interface TraceStage {
  readonly name: string;
  /** Indices of the stages that must have completed before; always smaller than this stage's own. */
  readonly after: readonly number[];
  /** One or more. The stages' tasks add up to the job's. */
  readonly tasks: number;
  /** In place of the job's. */
  readonly demand?: Resources;
  readonly require?: Readonly<Record<string, string>>;
  /** In place of the job's. */
  readonly gang?: boolean;
  /** Mean run time of its tasks as the submitter believes it, in place of the job's. */
  readonly estimateSeconds?: number;
}

/** Fractions of what the largest machine has, which is 1. */
export interface MachineShare {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

/** Jobs in any form that can be walked once; `for await` takes both. */
export type Jobs = Iterable<TraceJob> | AsyncIterable<TraceJob>;

/** Something of each job, in the same form: those in memory without a wait for each. */
export function mapJobs<T>(jobs: Jobs, of: (job: TraceJob) => T): Iterable<T> | AsyncIterable<T> {
  return Symbol.asyncIterator in jobs ? mapStreamed(jobs, of) : mapHeld(jobs, of);
}

function* mapHeld<T>(jobs: Iterable<TraceJob>, of: (job: TraceJob) => T): Generator<T> {
  for (const job of jobs) yield of(job);
}

async function* mapStreamed<T>(jobs: AsyncIterable<TraceJob>, of: (job: TraceJob) => T): AsyncGenerator<T> {
  for await (const job of jobs) yield of(job);
}

/** A job whose mean is computed from its durations. */
export function jobOf(submitSeconds: number, durationsSeconds: Float64Array): TraceJob {
  return { submitSeconds, durationsSeconds, meanSeconds: meanOf(durationsSeconds) };
}

/** The job with what is believed of its stages in place of what it says; nothing of those of which nothing is. */
export function withStageEstimates(job: TraceJob, stagesMs: readonly Millis[] = []): TraceJob {
  if (job.stages === undefined) return job;
  const stages = job.stages.map(({ estimateSeconds: _, ...stage }, place) => {
    const ms = stagesMs[place] ?? 0;
    return ms > 0 ? { ...stage, estimateSeconds: ms / 1_000 } : stage;
  });
  return { ...job, stages };
}

/** The job for a policy that starts no gangs: its tasks start one by one. */
export function withoutGangs(job: TraceJob): TraceJob {
  const { gang, ...rest } = job;
  if (!gang && job.stages?.some((stage) => stage.gang) !== true) return job;
  return { ...rest, ...present({ stages: job.stages?.map(({ gang: _, ...stage }) => stage) }) };
}

/** Everything that an iterable gives, as an array: for workloads that fit in memory. */
export async function collect<T>(items: Iterable<T> | AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
