import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isCustom } from '@goshawk/command';
import { parseAttributes, timesAll } from '@goshawk/command/cluster';
import { loadCustomEstimator, loadPolicy, schedulersEstimator } from '@goshawk/command/policy';
import {
  type Attribute,
  counted,
  GoshawkError,
  InputError,
  LIVE_TIMINGS,
  listAttributes,
  meanOf,
  present,
  Random,
  RELIABLE_TIMINGS,
  startsGangs,
  sumOf,
} from '@goshawk/core';
import type { JobDetails } from '@goshawk/papers/figures';
import type { Solver } from '@goshawk/papers/solver';
import { solverTimeoutMs } from '@goshawk/policies';
import { type JobResult, type PredictedJob, planningOf, RunMeter } from '@goshawk/report';
import { dealtByStart, type SimulatedEnd, Simulation } from '@goshawk/simulator';
import {
  columnBlocks,
  type Jobs,
  jobSpecOf,
  mapJobs,
  openWorkload,
  type TraceJob,
  unpackedJobs,
  withoutGangs,
} from '@goshawk/traces';
import { trainedBy } from '../predict/past.js';
import { type SimulatedShadow, shadowFor } from '../predict/shadow.js';
import { jobSeed, type Submitted, submissionEstimates } from '../replay/estimates.js';
import { EffectsHash } from './effects-hash.js';
import { messageTimesOf } from './network.js';
import type { JobSource, RunOutcome, RunProgress, RunRequest } from './request.js';
import { type Arrival, Results } from './results.js';

/** Interval of clock checks, progress reports and checks for interruption, in ms. */
const PAUSE_MS = 200;

/** Failed workers answer nothing, so questions are repeated. The simulator replaces leases. */
const WITH_FAILURES = { ...LIVE_TIMINGS, heartbeatMs: 0, leaseMs: 0, retryMs: LIVE_TIMINGS.leaseMs };

/**
 * Runs one simulation from its request and jobs alone, so that the result is the same in every thread.
 *
 * @throws GoshawkError if a job neither completed nor failed; WorkloadError if jobs must be read again and
 * that fails; the signal's reason
 */
export async function perform(
  request: RunRequest,
  source: JobSource,
  onProgress: (progress: RunProgress) => void,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const jobs = await jobsOf(source);
  await loadOwn(request);
  const effects = request.needsEffectsHash ? new EffectsHash() : undefined;
  const estimatorStates = await trainedOnHistory(request);
  const solver = await solverFor(request);
  const simulation = new Simulation<Arrival>({
    ...request,
    ...(solver === undefined ? {} : { solve: solver.solve }),
    wallClock: () => performance.now(),
    attributesOf: attributesOf(request),
    estimatorStates: request.estimatorStates ?? estimatorStates,
    ...(effects === undefined ? {} : { observe: effects.observe }),
    settings: { policy: request.policy, timings: hasFailures(request) ? WITH_FAILURES : RELIABLE_TIMINGS },
  });
  const cutoffSeconds = request.policy.cutoffMs / 1_000;
  const meter = new RunMeter({
    policy: request.policy.policy,
    seed: request.seed,
    cutoffSeconds,
    jobs: request.jobs,
    needsRecords: request.needsRecords,
    needsStaged: request.needsStaged,
    totalSlots: request.workers * request.slots,
    capacity: timesAll(request.capacity, request.workers),
    messageTimes: messageTimesOf(request.network),
  });
  const shadow = shadowFor(request, estimatorStates);
  const results = new Results(request.policy.cutoffMs);
  const details = request.needsJobDetails ? newDetails(request.jobs) : undefined;
  const startedAt = performance.now();
  let pausedAt = startedAt;
  let jobsDone = 0;
  const tell = (): void =>
    onProgress({ jobsDone, simulatedSeconds: simulation.now / 1_000, events: simulation.events });
  for await (const ended of simulation.run(arrivals(request, jobs, shadow))) {
    if (ended.length > 0) {
      shadow?.ended(ended);
      shadow?.advance(simulation.now);
    }
    jobsDone += ended.length;
    for (const end of ended) {
      const result = results.of(end);
      if (!isCounted(end, request)) {
        meter.addUncounted(result);
        continue;
      }
      meter.add(end.index, result, predictionOf(end));
      if (details !== undefined) noteDetails(details, end, result);
    }
    if (performance.now() - pausedAt < PAUSE_MS) continue;
    tell();
    await setImmediate();
    signal?.throwIfAborted();
    pausedAt = performance.now();
  }
  const wallSeconds = (performance.now() - startedAt) / 1_000;
  tell();
  if (simulation.activeJobs > 0) {
    if (isCustom(request.policy.preset.decidedBy.policy)) {
      throw new InputError(
        'policy-failed',
        `policy ${request.policy.policy} left ${simulation.activeJobs} jobs waiting forever with no task running`,
        simulation.planning.refusedStarts
          ? `${counted(simulation.planning.refusedStarts, 'start')} did not fit and were refused; only \`draft.gang\`, with all of its tasks, starts a gang`
          : 'a policy is called once per change of waiting tasks or free workers; `draft.again` requests another call',
      );
    }
    throw new GoshawkError(
      'stalled',
      `${simulation.activeJobs} jobs neither completed nor failed: a bug in goshawk`,
    );
  }
  const { run, series } = meter.finish({
    options: request.options,
    messages: messagesOf(simulation),
    steals: simulation.steals,
    planning: planningOf(simulation.planning, simulation.planningTimes, solver?.version),
    predictor: request.estimator === 'oracle' ? null : meter.accuracy(),
    events: simulation.events,
    wallSeconds,
    peakRssBytes: process.resourceUsage().maxRSS * 1_024,
    readings: simulation.readings.map(({ atMs, queuedEntries, ...counted }) => ({
      ...counted,
      seconds: atMs / 1_000,
      ...present({ queuedEntries }),
    })),
  });
  const more = present({ effectsHash: effects?.digest(), shadow: shadow?.results() });
  const jobTimes = { ...meter.times, ...present({ details }) };
  return { run: { ...run, ...more }, series, jobTimes, records: meter.records };
}

function attributesOf({
  attribute = [],
  attributes = [],
}: RunRequest): (worker: number) => readonly Attribute[] {
  if (attributes.length === 0) return parseAttributes(attribute);
  return (worker) => listAttributes(attributes[worker % attributes.length]) ?? [];
}

/** Loads the user's policy and estimators, since a new thread has loaded nothing. */
async function loadOwn({ policy, estimator, shadow = [], from = '' }: RunRequest): Promise<void> {
  await loadPolicy(policy.preset.decidedBy.policy, from);
  for (const name of [estimator, ...shadow]) if (isCustom(name)) await loadCustomEstimator(name);
}

/** Trains the shadow estimators, and the active one unless the request contains its state. */
function trainedOnHistory({
  policy,
  shadow = [],
  history,
  from = '',
  estimatorStates,
}: RunRequest): Promise<Record<string, unknown>> {
  const inCharge = estimatorStates === undefined ? [policy.estimator] : [];
  const past = history === undefined ? undefined : resolve(from, history);
  return trainedBy([...new Set([...inCharge, ...shadow])], past, policy);
}

async function jobsOf(source: JobSource): Promise<Jobs> {
  if (source.kind === 'packed') return unpackedJobs(source.packed);
  const { spec, features, resources } = source;
  return (await openWorkload(spec, { features, resources })).jobs();
}

function newDetails(jobs: number): JobDetails {
  const column = () => new Float64Array(jobs).fill(Number.NaN);
  return {
    submitSeconds: column(),
    tasks: column(),
    normalisedWaits: column(),
    meanSeconds: column(),
    estimateSeconds: column(),
    ratioPercents: column(),
  };
}

function noteDetails(
  details: JobDetails,
  { index, job, judged, sampled }: SimulatedEnd<Arrival>,
  { outcome, taskStartsSeconds: starts, submitSeconds }: JobResult,
): void {
  details.submitSeconds[index] = submitSeconds;
  details.tasks[index] = job.tasks;
  details.meanSeconds[index] = job.meanMs / 1_000;
  if (judged.estimateMs !== undefined) details.estimateSeconds[index] = judged.estimateMs / 1_000;
  if (typeof sampled?.note === 'number') details.ratioPercents[index] = sampled.note;
  if (outcome !== 'completed' || job.meanMs === 0) return;
  const meanWait = meanOf(starts, (start) => start - submitSeconds);
  details.normalisedWaits[index] = meanWait / (job.meanMs / 1_000);
}

/** Estimate and truth of a job. */
function predictionOf({ job, judged, sampled }: SimulatedEnd<Arrival>): PredictedJob {
  const { estimateMs } = judged;
  const decidedMs = sampled?.decidedMs;
  return {
    trueMeanSeconds: job.meanMs / 1_000,
    taskSeconds: (job.meanMs * job.tasks) / 1_000,
    judgedLong: judged.long,
    estimateSeconds: estimateMs === undefined ? undefined : estimateMs / 1_000,
    pilots: sampled?.pilots ?? 0,
    decidedSeconds: decidedMs === undefined ? undefined : decidedMs / 1_000,
  };
}

function arrivals(
  request: RunRequest,
  jobs: Jobs,
  shadow: SimulatedShadow | undefined,
): Iterable<Arrival> | AsyncIterable<Arrival> {
  const submit = request.asSubmitted ? asSubmitted : submissionEstimates(request.estimator, request.seed);
  const drawn = Random.seeded(request.seed).fork('durations');
  const order =
    schedulersEstimator(request.estimator) === 'given' ? undefined : { random: () => drawn.next() };
  const columns = columnBlocks();
  let index = 0;
  const hasGangs = startsGangs(request.policy.preset);
  const mayRunAgain = request.policy.preset.declares || hasFailures(request);
  return mapJobs(jobs, (given) => {
    const job = hasGangs ? given : withoutGangs(given);
    const { job: submitted, estimateMs } = submit(job);
    const spec = jobSpecOf(submitted, estimateMs, jobSeed(request.seed, index), columns);
    const submitMs = (job.submitSeconds - request.firstSubmitSeconds) * request.arrivalFactor * 1_000;
    shadow?.arrived(index, job, submitMs);
    index++;
    return {
      submitMs,
      spec: request.durations === 'start' ? dealtByStart(spec, order, mayRunAgain) : spec,
      tasks: job.durationsSeconds.length,
      meanMs: meanOf(job.durationsSeconds) * 1_000,
    };
  });
}

function hasFailures({ trouble }: RunRequest): boolean {
  return trouble?.failures !== undefined;
}

function asSubmitted(job: TraceJob): Submitted {
  const { estimateSeconds } = job;
  return { job, estimateMs: estimateSeconds === undefined ? undefined : estimateSeconds * 1_000 };
}

function isCounted({ job }: SimulatedEnd, { countedSeconds: [from, to] }: RunRequest): boolean {
  const seconds = job.submitMs / 1_000;
  return seconds >= from && seconds <= to;
}

function messagesOf(simulation: Simulation): { total: number; byType: Record<string, number> } {
  const byType: Record<string, number> = { ...simulation.messages };
  return { total: sumOf(Object.values(byType)), byType };
}

/** Loads the solver for policies that plan ahead, which takes a moment. */
async function solverFor({ policy }: RunRequest): Promise<Solver | undefined> {
  if (solverTimeoutMs(policy.preset) === undefined) return undefined;
  const { loadSolver } = await import('@goshawk/papers/solver');
  return loadSolver();
}
