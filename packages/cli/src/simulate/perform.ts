import { setImmediate } from 'node:timers/promises';
import { GoshawkError, Random, RELIABLE_TIMINGS } from '@goshawk/core';
import { finishRun, type JobResult, RunTally } from '@goshawk/report';
import { type SimulatedEnd, type SimulatedJob, Simulation } from '@goshawk/simulator';
import { openWorkload } from '@goshawk/traces';
import { estimateOf, parseEstimator } from '../replay/estimates.js';
import type { RunOutcome, RunProgress, RunRequest } from './request.js';
import { meanSeconds } from './survey.js';

/** Between two looks at the clock, two progress reports, and two chances to be interrupted. ms */
const PAUSE_MS = 200;

/**
 * Runs one simulation from its request alone, so that it is the same in whichever thread it runs.
 *
 * @throws GoshawkError when a job neither completed nor failed
 */
export async function perform(
  request: RunRequest,
  onProgress: (progress: RunProgress) => void,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const workload = await openWorkload(request.workload);
  const simulation = new Simulation({
    ...request,
    settings: { policy: request.policy, timings: RELIABLE_TIMINGS },
  });
  const tally = new RunTally({ policy: request.policy.policy, totalSlots: request.workers * request.slots });
  const startedAt = performance.now();
  let pausedAt = startedAt;
  let jobsDone = 0;
  for await (const ended of simulation.run(arrivals(request, workload.jobs()))) {
    jobsDone += ended.length;
    for (const end of ended) if (isCounted(end, request)) tally.add(resultOf(end, request.policy.cutoffMs));
    if (performance.now() - pausedAt < PAUSE_MS) continue;
    onProgress({ jobsDone, simulatedSeconds: simulation.now / 1_000, events: simulation.events });
    await setImmediate();
    signal?.throwIfAborted();
    pausedAt = performance.now();
  }
  const wallSeconds = (performance.now() - startedAt) / 1_000;
  if (simulation.jobsUnderway > 0) {
    throw new GoshawkError(
      'stalled',
      `${simulation.jobsUnderway} jobs neither completed nor failed: a bug in goshawk`,
    );
  }
  return finishRun(tally, {
    seed: request.seed,
    options: request.options,
    messages: messagesOf(simulation),
    steals: simulation.steals,
    events: simulation.events,
    wallSeconds,
    peakRssBytes: process.resourceUsage().maxRSS * 1_024,
  });
}

async function* arrivals(
  request: RunRequest,
  jobs: AsyncIterable<Parameters<typeof meanSeconds>[0]>,
): AsyncIterable<SimulatedJob> {
  const estimator = parseEstimator(request.estimator);
  const random = Random.seeded(request.seed).fork('estimates');
  for await (const job of jobs) {
    const means = { trueMeanMs: meanSeconds(job) * 1_000, statedMeanMs: job.meanSeconds * 1_000 };
    yield {
      submitMs: (job.submitSeconds - request.firstSubmitSeconds) * request.arrivalFactor * 1_000,
      durationsMs: job.durationsSeconds.map((seconds) => seconds * 1_000),
      estimateMs: estimateOf(estimator, means, random),
    };
  }
}

function isCounted({ job }: SimulatedEnd, { countedSeconds: [from, to] }: RunRequest): boolean {
  const seconds = job.submitMs / 1_000;
  return seconds >= from && seconds <= to;
}

function resultOf(
  { index, job, endedMs, completed, startsMs, runsMs }: SimulatedEnd,
  cutoffMs: number,
): JobResult {
  let sum = 0;
  for (let i = 0; i < job.durationsMs.length; i++) sum += job.durationsMs[i]!;
  const seconds = (ms: number) => ms / 1_000;
  return {
    id: `${index + 1}`,
    class: sum / job.durationsMs.length < cutoffMs ? 'short' : 'long',
    outcome: completed ? 'completed' : 'failed',
    submitSeconds: job.submitMs / 1_000,
    runtimeSeconds: (endedMs - job.submitMs) / 1_000,
    taskCount: job.durationsMs.length,
    taskStartsSeconds: startsMs.map(seconds),
    taskRunSeconds: runsMs.map(seconds),
  };
}

function messagesOf(simulation: Simulation): { total: number; byType: Record<string, number> } {
  const byType: Record<string, number> = { ...simulation.messages };
  return { total: Object.values(byType).reduce((sum, count) => sum + count, 0), byType };
}
