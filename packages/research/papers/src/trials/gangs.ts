import { type Millis, ONE_CPU, present } from '@goshawk/core';
import { optionsOf, PlanningTimes, type PolicyOptions, type SolveProgram, spreadOf } from '@goshawk/policies';
import { History } from '@goshawk/predictor';
import {
  type DeadlineResults,
  DeadlineTally,
  inSeconds,
  type PlanningResults,
  planningOf,
} from '@goshawk/report';
import type { TraceJob } from '@goshawk/traces';
import { arrivingJobOf } from '@goshawk/traces';
import { THREE_SIGMA_POLICIES, ThreeSigma, type ThreeSigmaOptions } from '../policies/three-sigma/index.js';
import { runTrial, type TrialEstimate, type TrialJob, trialPolicy } from './trial.js';

/** One policy on one workload, on a cluster with racks, as in 3Sigma §5. */
interface GangExperiment {
  readonly policy: GangPolicy;
  readonly options?: Partial<ThreeSigmaOptions>;
  readonly jobs: readonly TraceJob[];
  /** History of the predictor. */
  readonly past: readonly TraceJob[];
  /**
   * Number of past runs known for each program. If set, the predictor does not learn from the jobs
   * themselves.
   */
  readonly samples?: number;
  /** Replaces the prediction from history. */
  readonly estimate?: ((job: number, runMs: Millis) => TrialEstimate) | undefined;
  readonly nodes: number;
  readonly racks: number;
}

/** The paper's policies, and the default policy, for which best-effort jobs are preemptible. */
export type GangPolicy = keyof typeof THREE_SIGMA_POLICIES | 'goshawk';

interface GangRun {
  readonly deadlines: DeadlineResults;
  readonly planning?: PlanningResults;
  /** Wall time of the prediction for one job. */
  readonly predictionSeconds: ReturnType<typeof inSeconds>;
  /** Options of the policy, with defaults, except those of the default policy. */
  readonly options: PolicyOptions;
}

/** Cycle on the paper's clusters. It is virtual time here. */
const CYCLE_MS = 10_000;
/** If the default policy runs, the options of this policy describe the cluster and the jobs. */
const SIGMA = '3sigma-sched';
/** Features of 3σPredict (§4.1) that jobs of these workloads have. */
export const SIGMA_FEATURES = [
  'name',
  'logical',
  'user',
  'class',
  'resources',
  'user+logical',
  'user+hour',
  'all',
] as const;

const SAMPLED_FEATURES = ['user+logical', 'all'] as const;

export function runGangExperiment(experiment: GangExperiment, solve: SolveProgram): GangRun {
  const { policy: name, jobs, past, nodes, racks, samples } = experiment;
  const isDefault = name === 'goshawk';
  const own = experiment.options ?? {};
  const given = { cycleMs: CYCLE_MS, afterDeadline: 'abandon', ...(isDefault ? {} : own) } as const;
  const described = isDefault ? SIGMA : name;
  const options = optionsOf(described, THREE_SIGMA_POLICIES[described], given) as ThreeSigmaOptions;
  const policy = isDefault ? trialPolicy(name, own) : trialPolicy(name, options);
  const history = new History({ features: samples === undefined ? SIGMA_FEATURES : SAMPLED_FEATURES });
  const known = samples === undefined ? past : sampled(past, samples);
  for (const job of known) history.learn(arrivingJobOf(job), runMsOf(job));
  const times = new PlanningTimes(() => performance.now());
  const predictions: Millis[] = [];
  /** Last start of each job. */
  const startedMs: Millis[] = [];
  const { completedMs, preemptions } = runTrial({
    jobs: jobs.map((job) => gangOf(job, options.slowdown, isDefault)),
    workers: Array.from({ length: nodes }, (_, node) => ({
      capacity: ONE_CPU,
      attributes: { rack: `r${1 + (node % racks)}` },
    })),
    policy,
    solve,
    abandons: options.afterDeadline === 'abandon',
    estimate: (number) => {
      const job = jobs[number]!;
      const began = performance.now();
      const estimate = experiment.estimate?.(number, runMsOf(job)) ?? estimateFrom(job, name, history);
      predictions.push(performance.now() - began);
      return estimate;
    },
    started: ({ stage }, now) => {
      startedMs[stage.job.number] = now;
    },
    completed: (number) => {
      const job = jobs[number]!;
      if (samples === undefined) history.learn(arrivingJobOf(job), runMsOf(job));
    },
    times,
  });
  const tally = policy instanceof ThreeSigma ? policy.counters : {};
  return {
    deadlines: deadlinesOf(jobs, startedMs, completedMs),
    ...present({ planning: planningOf({ ...tally, preemptions }, times.read()) }),
    predictionSeconds: inSeconds(spreadOf(predictions)),
    options: { ...(isDefault ? own : options) },
  };
}

/** Returns the first runs of each program. */
function sampled(past: readonly TraceJob[], samples: number): TraceJob[] {
  const seen = new Map<string, number>();
  return past.filter(({ user, logicalName }) => {
    const program = `${user} ${logicalName}`;
    const count = seen.get(program) ?? 0;
    seen.set(program, count + 1);
    return count < samples;
  });
}

function estimateFrom(job: TraceJob, policy: GangPolicy, history: History): TrialEstimate {
  if (policy === 'point-perf') return { estimateMs: runMsOf(job) };
  const prediction = history.predict(arrivingJobOf(job));
  return { estimateMs: prediction.estimateMs, distribution: prediction.distribution() };
}

/**
 * Converts a job to a gang, whose tasks all run as long as the job.
 *
 * @param isDeclared whether the job declares that it is a gang, and preemptible if it has no deadline
 */
function gangOf(job: TraceJob, slowdown: number, isDeclared: boolean): TrialJob {
  const { submitSeconds, durationsSeconds, deadlineSeconds, prefer: prefers } = job;
  const stage = {
    tasks: durationsSeconds.length,
    demand: ONE_CPU,
    durationMs: runMsOf(job),
    parents: [],
    gang: isDeclared,
  };
  return {
    arriveMs: submitSeconds * 1_000,
    preemptible: isDeclared && deadlineSeconds === undefined,
    ...present({ deadlineMs: deadlineSeconds && deadlineSeconds * 1_000, prefers }),
    slowdown,
    stages: [stage],
  };
}

function runMsOf({ meanSeconds }: TraceJob): Millis {
  return meanSeconds * 1_000;
}

function deadlinesOf(
  jobs: readonly TraceJob[],
  startedMs: readonly Millis[],
  completedMs: ArrayLike<Millis>,
): DeadlineResults {
  const tally = new DeadlineTally();
  for (const [index, { submitSeconds, deadlineSeconds, durationsSeconds }] of jobs.entries()) {
    const endMs = completedMs[index]!;
    const isCompleted = !Number.isNaN(endMs);
    const ranSeconds = isCompleted ? (endMs - startedMs[index]!) / 1_000 : 0;
    tally.add({
      ...present({ deadlineSeconds }),
      outcome: isCompleted ? 'completed' : 'failed',
      submitSeconds,
      runtimeSeconds: (endMs - submitSeconds * 1_000) / 1_000,
      taskRunSeconds: durationsSeconds.map(() => ranSeconds),
    });
  }
  return tally.read(jobs.at(-1)!.submitSeconds)!;
}
