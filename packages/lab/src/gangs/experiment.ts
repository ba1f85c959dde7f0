import type { Millis } from '@goshawk/core';
import {
  type CentralPolicy,
  defaultsOf,
  type PlanningSpread,
  PlanningTimes,
  type SolveProgram,
  spreadOf,
  THREE_SIGMA_OPTIONS,
  THREE_SIGMA_POLICIES,
  ThreeSigma,
  type ThreeSigmaOptions,
} from '@goshawk/policies';
import { History } from '@goshawk/predictor';
import { type GangBelief, type GangJob, type GangOutcome, simulateGangs } from '@goshawk/simulator';
import type { TraceJob } from '@goshawk/traces';
import { arrivingJobOf } from '../predict/arriving.js';

/** One policy on one workload, on a cluster of racks, as 3Sigma §5 has it. */
interface GangExperiment {
  readonly policy: GangPolicy;
  readonly options?: Partial<ThreeSigmaOptions>;
  readonly jobs: readonly TraceJob[];
  /** What the predictor has seen before. */
  readonly past: readonly TraceJob[];
  /** So many of each program's past runs are known, and nothing is learnt on the way. */
  readonly samples?: number;
  /** What is believed in place of what was learnt. */
  readonly belief?: ((job: number, runMs: Millis) => GangBelief) | undefined;
  readonly nodes: number;
  readonly racks: number;
}

export type GangPolicy = keyof typeof THREE_SIGMA_POLICIES;

/** 3Sigma §5, and what `docs/3SIGMA.md` says of each. */
export interface GangMetrics {
  readonly deadlineJobs: number;
  /** Did not complete by their deadline. */
  readonly missed: number;
  readonly bestEffortJobs: number;
  readonly bestEffortCompleted: number;
  /** Node hours of completed jobs that ended while jobs still arrived. */
  readonly goodputHours: { readonly deadline: number; readonly bestEffort: number };
  /** Mean time from submission to completion of those that completed; undefined: none did. */
  readonly bestEffortLatencySeconds: number | undefined;
  readonly preemptions: number;
  readonly cycles: number;
  /** Plans without, or better than, what the solver said. */
  readonly greedy: number;
  readonly seeds: number;
  readonly refused: number;
  /** Wall time of planning, where there is a solver, and of what was learnt of a job. */
  readonly cycleMs: PlanningSpread | undefined;
  readonly predictionMs: PlanningSpread;
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

export function runGangExperiment(experiment: GangExperiment, solve: SolveProgram): GangMetrics {
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
  const took = { cycleMs: times.read()?.cycle, predictionMs: spreadOf(predictions) };
  return { ...metricsOf(gangs, outcomes, policy), ...took };
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

function metricsOf(
  jobs: readonly GangJob[],
  outcomes: readonly GangOutcome[],
  policy: CentralPolicy,
): Omit<GangMetrics, 'cycleMs' | 'predictionMs'> {
  const windowMs = jobs.at(-1)!.submitMs;
  const goodput = { deadline: 0, bestEffort: 0 };
  let [deadlineJobs, missed, bestEffortCompleted, latencyMs, preemptions] = [0, 0, 0, 0, 0];
  for (const [index, { submitMs, deadlineMs, nodes }] of jobs.entries()) {
    const outcome = outcomes[index]!;
    const hasDeadline = Number.isFinite(deadlineMs);
    preemptions += outcome.preemptions;
    if (outcome.completedMs <= windowMs) {
      goodput[hasDeadline ? 'deadline' : 'bestEffort'] += (nodes * outcome.ranMs) / 3_600_000;
    }
    if (hasDeadline) {
      deadlineJobs++;
      if (outcome.completedMs > submitMs + deadlineMs) missed++;
    } else if (Number.isFinite(outcome.completedMs)) {
      bestEffortCompleted++;
      latencyMs += outcome.completedMs - submitMs;
    }
  }
  const { cycles, greedy, seeds, refused } = policy instanceof ThreeSigma ? policy.tally : NO_TALLY;
  return {
    deadlineJobs,
    missed,
    bestEffortJobs: jobs.length - deadlineJobs,
    bestEffortCompleted,
    goodputHours: goodput,
    bestEffortLatencySeconds: bestEffortCompleted === 0 ? undefined : latencyMs / 1_000 / bestEffortCompleted,
    preemptions,
    cycles,
    greedy,
    seeds,
    refused,
  };
}

const NO_TALLY = { cycles: 0, greedy: 0, seeds: 0, refused: 0 };
