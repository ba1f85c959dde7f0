import { type Millis, present, sumOf } from '@goshawk/core';
import {
  defaultsOf,
  PlanningTimes,
  type SolveProgram,
  spreadOf,
  THREE_SIGMA_OPTIONS,
  THREE_SIGMA_POLICIES,
  ThreeSigma,
  type ThreeSigmaOptions,
} from '@goshawk/policies';
import { History } from '@goshawk/predictor';
import { type DeadlineResults, DeadlineTally, type PlanningResults } from '@goshawk/report';
import { type GangBelief, type GangJob, type GangOutcome, simulateGangs } from '@goshawk/simulator';
import type { TraceJob } from '@goshawk/traces';
import { inSeconds, planningOf } from '../planning.js';
import { arrivingJobOf } from '../predict/arriving.js';

/** One policy on one workload, on a cluster of racks, as 3Sigma §5 has it. */
interface GangExperiment {
  readonly policy: GangPolicy;
  readonly options?: Partial<ThreeSigmaOptions>;
  readonly jobs: readonly TraceJob[];
  /** What the predictor has seen before. */
  readonly past: readonly TraceJob[];
  /** So many of each program's past runs are known, and the jobs add none. */
  readonly samples?: number;
  /** What is believed in place of what the history predicts. */
  readonly belief?: ((job: number, runMs: Millis) => GangBelief) | undefined;
  readonly nodes: number;
  readonly racks: number;
}

export type GangPolicy = keyof typeof THREE_SIGMA_POLICIES;

export interface GangRun {
  readonly deadlines: DeadlineResults;
  readonly planning?: PlanningResults;
  /** Wall time of the prediction for a job. */
  readonly predictionSeconds: ReturnType<typeof inSeconds>;
}

/** The paper's clusters take the same time for a cycle as ours take to plan it in, in virtual time. */
const CYCLE_MS = 10_000;
/** Features of 3σPredict (§4.1) that a job of these workloads has. */
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
  const options: ThreeSigmaOptions = {
    ...defaultsOf<ThreeSigmaOptions>({ options: THREE_SIGMA_OPTIONS }),
    cycleMs: CYCLE_MS,
    afterDeadline: 'abandon',
    ...experiment.options,
  };
  const policy = THREE_SIGMA_POLICIES[name].make(options, {
    cutoffMs: 0,
    sizesAreGiven: true,
    reserve: 'auto',
    random: () => 0,
  });
  const history = new History({ features: samples === undefined ? SIGMA_FEATURES : SAMPLED_FEATURES });
  const known = samples === undefined ? past : sampled(past, samples);
  for (const job of known) history.learn(arrivingJobOf(job), runMsOf(job));
  const gangs = jobs.map(gangOf);
  const times = new PlanningTimes(() => performance.now());
  const predictions: Millis[] = [];
  const believe = (job: number): GangBelief => {
    const began = performance.now();
    const belief = experiment.belief?.(job, gangs[job]!.runMs) ?? beliefIn(jobs[job]!, name, history);
    predictions.push(performance.now() - began);
    return belief;
  };
  const outcomes = simulateGangs({
    jobs: gangs,
    nodes: Array.from({ length: nodes }, (_, node) => ({ rack: `r${1 + (node % racks)}` })),
    policy,
    solve,
    believe,
    times,
    completed: (job, runMs) => {
      if (samples === undefined) history.learn(arrivingJobOf(jobs[job]!), runMs);
    },
    slowdown: options.slowdown,
    abandons: options.afterDeadline === 'abandon',
  });
  const preemptions = sumOf(outcomes, (outcome) => outcome.preemptions);
  const tally = policy instanceof ThreeSigma ? policy.tally : {};
  return {
    deadlines: deadlinesOf(gangs, outcomes),
    ...present({ planning: planningOf({ ...tally, preemptions }, times.read()) }),
    predictionSeconds: inSeconds(spreadOf(predictions)),
  };
}

/** The first runs of each program. */
function sampled(past: readonly TraceJob[], samples: number): TraceJob[] {
  const seen = new Map<string, number>();
  return past.filter(({ user, logicalName }) => {
    const program = `${user} ${logicalName}`;
    const count = seen.get(program) ?? 0;
    seen.set(program, count + 1);
    return count < samples;
  });
}

function beliefIn(job: TraceJob, policy: GangPolicy, history: History): GangBelief {
  if (policy === 'point-perf') return { estimateMs: runMsOf(job) };
  const prediction = history.predict(arrivingJobOf(job));
  return { estimateMs: prediction.estimateMs, distribution: prediction.distribution() };
}

function gangOf(job: TraceJob): GangJob {
  return {
    submitMs: job.submitSeconds * 1_000,
    nodes: job.durationsSeconds.length,
    runMs: runMsOf(job),
    deadlineMs: (job.deadlineSeconds ?? Number.POSITIVE_INFINITY) * 1_000,
    prefers: job.prefer ?? {},
  };
}

function runMsOf({ meanSeconds }: TraceJob): Millis {
  return meanSeconds * 1_000;
}

function deadlinesOf(jobs: readonly GangJob[], outcomes: readonly GangOutcome[]): DeadlineResults {
  const tally = new DeadlineTally();
  for (const [index, { submitMs, deadlineMs, nodes }] of jobs.entries()) {
    const { completedMs, ranMs } = outcomes[index]!;
    const isCompleted = Number.isFinite(completedMs);
    tally.add({
      ...present({ deadlineSeconds: Number.isFinite(deadlineMs) ? deadlineMs / 1_000 : undefined }),
      outcome: isCompleted ? 'completed' : 'failed',
      submitSeconds: submitMs / 1_000,
      runtimeSeconds: (completedMs - submitMs) / 1_000,
      taskRunSeconds: new Float64Array(nodes).fill(ranMs / 1_000),
    });
  }
  return tally.read(jobs.at(-1)!.submitMs / 1_000)!;
}
