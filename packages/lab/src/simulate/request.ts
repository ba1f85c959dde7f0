import type { PolicySettings, Resources } from '@goshawk/core';
import type { JobDetails } from '@goshawk/papers/figures';
import type { JobRecord, JobTimes, OptionValues, Run, RunSeries } from '@goshawk/report';
import type { NetworkModel } from '@goshawk/simulator';
import type { PackedJobs } from '@goshawk/traces';

/** One run, as plain data: beside the jobs, a thread needs nothing else. */
export interface RunRequest {
  readonly policy: PolicySettings;
  readonly workers: number;
  /** 0: no fixed number. */
  readonly slots: number;
  /** Capacity per worker besides slots. */
  readonly capacity: Resources;
  /** Worker attributes as in `--attribute`; default: none. */
  readonly attribute?: readonly string[];
  readonly schedulers: number;
  readonly seed: number;
  readonly network: NetworkModel;
  readonly estimator: string;
  /** The cluster gets what submitters said, whatever the estimator. */
  readonly asSubmitted?: boolean;
  /** Estimators that are asked about every job and have no say. */
  readonly shadow?: readonly string[];
  /** The file of jobs that ended before, which estimators learn from first. */
  readonly history?: string | undefined;
  /** The folder that paths of files start from; this process's unless given. */
  readonly from?: string;
  /** Whether a duration of the workload belongs to its task, or to whichever task of the batch starts next. */
  readonly durations: 'start' | 'task';
  /** The workload's time begins here. */
  readonly firstSubmitSeconds: number;
  /** Times between submissions are multiplied by this. */
  readonly arrivalFactor: number;
  /** Only jobs submitted within this are counted; since the first submission, after the factor. */
  readonly countedSeconds: readonly [from: number, to: number];
  readonly jobs: number;
  readonly options: OptionValues;
  /** The states that the schedulers' estimators begin with, by their names; what `history` says unless given. */
  readonly estimatorStates?: Readonly<Record<string, unknown>> | undefined;
  /** Whether more than the run time of each job is wanted. */
  readonly wantsJobDetails?: boolean;
  /** Whether all that is to be known of each job is wanted. */
  readonly wantsRecords?: boolean;
  /** Whether a hash of all that the machines do is wanted. Slow. */
  readonly wantsEffectsHash?: boolean;
}

/** Source of a run's jobs as plain data: in shared memory, or by path or generator. */
export type JobSource =
  | { readonly kind: 'packed'; readonly packed: PackedJobs }
  | {
      readonly kind: 'spec';
      readonly spec: string;
      readonly features?: string | undefined;
      readonly resources?: readonly string[] | undefined;
    };

export interface RunOutcome {
  readonly run: Run & { readonly effectsHash?: string };
  readonly series: RunSeries;
  readonly jobTimes: JobTimes & { readonly details?: JobDetails };
  /** Records in order of job ends; empty unless requested. */
  readonly records: readonly JobRecord[];
}

export interface RunProgress {
  readonly jobsDone: number;
  readonly simulatedSeconds: number;
  readonly events: number;
}
