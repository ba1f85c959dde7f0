import type { Attributes, PolicySettings, Resources, UserGrants } from '@goshawk/core';
import type { JobDetails } from '@goshawk/papers/figures';
import type { JobRow, JobTimes, OptionValues, Run, RunSeries } from '@goshawk/report';
import type { NetworkModel, Trouble } from '@goshawk/simulator';
import type { PackedJobs } from '@goshawk/traces';

/** One run as plain data: together with the jobs, a thread needs nothing else. */
export interface RunRequest {
  readonly policy: PolicySettings;
  readonly workers: number;
  /** 0: no fixed number. */
  readonly slots: number;
  /** Maximum number of tasks per worker that share its CPUs. Default: as many as slots. */
  readonly places?: number | undefined;
  /** Capacity per worker besides slots. */
  readonly capacity: Resources;
  /** Worker attributes as in `--attribute`; default: none. */
  readonly attribute?: readonly string[];
  /** Instead of `attribute`: those of recorded workers, repeated if there are more workers. */
  readonly attributes?: readonly Attributes[];
  /** Default: users have equal weights. */
  readonly users?: UserGrants | undefined;
  readonly schedulers: number;
  readonly seed: number;
  readonly network: NetworkModel;
  /** Slow and failing workers. Default: none. */
  readonly trouble?: Trouble | undefined;
  readonly estimator: string;
  /** Whether the cluster gets the submitters' estimates, regardless of the estimator. */
  readonly asSubmitted?: boolean;
  /** Estimators that predict every job without affecting it. */
  readonly shadow?: readonly string[];
  /** File of jobs that ended earlier, from which estimators learn first. */
  readonly history?: string | undefined;
  /** Base folder of relative paths; by default the folder of this process. */
  readonly from?: string;
  /** Whether a duration belongs to its task, or to the next task of the batch that starts. */
  readonly durations: 'start' | 'task';
  /** Start of the workload's time. */
  readonly firstSubmitSeconds: number;
  /** Times between submissions are multiplied by this. */
  readonly arrivalFactor: number;
  /** Only jobs submitted in this interval count; since the first submission, after the factor is applied. */
  readonly countedSeconds: readonly [from: number, to: number];
  readonly jobs: number;
  readonly options: OptionValues;
  /** Initial states of the schedulers' estimators by name; by default they are trained on `history`. */
  readonly estimatorStates?: Readonly<Record<string, unknown>> | undefined;
  /** Whether to record more than the run time of each job. */
  readonly needsJobDetails?: boolean;
  /** Whether to record every detail of each job. */
  readonly needsRecords?: boolean;
  /** Whether to measure shares and fairness of jobs with stages or demands. Default: true. */
  readonly needsStaged?: boolean;
  /** Whether to hash all effects of the machines. Slow. */
  readonly needsEffectsHash?: boolean;
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
  readonly records: readonly JobRow[];
}

export interface RunProgress {
  readonly jobsDone: number;
  readonly simulatedSeconds: number;
  readonly events: number;
}

/** Called with the outcome of a run and the position of its request. */
export type OnDone = (index: number, outcome: RunOutcome) => Promise<void>;
