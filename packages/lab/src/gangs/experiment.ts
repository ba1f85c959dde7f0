import { type Millis, present } from '@goshawk/core';
import type { Planned } from '@goshawk/figures';
import {
  type CentralPolicy,
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
import { type GangBelief, type GangJob, type GangOutcome, simulateGangs } from '@goshawk/simulator';
import type { TraceJob } from '@goshawk/traces';
import { inSeconds } from '../planning.js';
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

/** What a figure shows of it, and what tells whether it went as it should. */
export interface GangMetrics extends Planned {
  readonly deadlineJobs: number;
  readonly bestEffortCompleted: number;
  readonly cycles: number;
  /** Plans without, or better than, what the solver said. */
  readonly greedy: number;
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
  const cycle = times.read()?.cycle;
  return {
    ...metricsOf(gangs, outcomes, policy),
    ...present({ cycleSeconds: cycle && inSeconds(cycle) }),
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

function metricsOf(
  jobs: readonly GangJob[],
  outcomes: readonly GangOutcome[],
  policy: CentralPolicy,
): GangMetrics {
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
  const { cycles, greedy } = policy instanceof ThreeSigma ? policy.tally : { cycles: 0, greedy: 0 };
  return {
    deadlineJobs,
    missed: missed / deadlineJobs,
    bestEffortCompleted,
    goodputHours: goodput,
    ...(bestEffortCompleted === 0 ? {} : { bestEffortSeconds: latencyMs / 1_000 / bestEffortCompleted }),
    preemptions,
    cycles,
    greedy,
  };
}
