import { isCustom, optionsGiven } from '@goshawk/command';
import { loadPolicy, POLICY_OPTIONS, policySettings } from '@goshawk/command/policy';
import {
  InputError,
  type JobSpec,
  listAttributes,
  type Millis,
  NO_RESOURCES,
  type PolicySettings,
  type Priority,
  placesOf,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { type SimulatedEnd, type SimulatedJob, Simulation } from '@goshawk/simulator';
import { isFraction } from '../simulate/capacity.js';
import type { Snapshot, SnapshotJob } from './snapshot.js';

/** A change to the cluster or to the job. */
export interface JobChange {
  /** Additional workers; negative: fewer. */
  readonly workers?: number | undefined;
  readonly priority?: Priority | undefined;
  readonly policy?: string | undefined;
}

/** Predicted times, counted from now; null: not within the simulation. */
export interface JobTimes {
  /** Time until one of its waiting tasks starts. */
  readonly startMs: Millis | null;
  /** Time until the job ends. */
  readonly endMs: Millis | null;
}

/** Waiting jobs are submitted this long after running ones, so that the tasks that run now start first. */
const RESUMED_MS = 200;
/** Time between submissions, so that jobs arrive in order. */
const APART_MS = 0.001;

interface Submission extends SimulatedJob {
  readonly of: SnapshotJob;
}

/** Simulates the cluster from its present state until the asked job has ended. @throws InputError for an impossible change */
export async function timesOfJob(snapshot: Snapshot, change: JobChange): Promise<JobTimes> {
  const workers = snapshot.workers.length + (change.workers ?? 0);
  if (workers < 1)
    throw new InputError('bad-request', `the cluster has only ${snapshot.workers.length} active workers`);
  const policy = await settingsOf(snapshot, change);
  const [first] = snapshot.workers;
  const slots = first!.slots;
  const haveFractions = snapshot.jobs.some(({ spec }) =>
    spec.stages.some(({ demand }) => isFraction(demand)),
  );
  const simulation = new Simulation<Submission>({
    workers,
    slots,
    places: policy.preset.packs && haveFractions ? placesOf(slots) : undefined,
    capacity: first!.capacity,
    attributesOf: (worker) => {
      const { attributes } = snapshot.workers[worker % snapshot.workers.length]!;
      return listAttributes(attributes) ?? [];
    },
    schedulers: snapshot.schedulers,
    settings: { policy, timings: RELIABLE_TIMINGS },
    seed: 1,
  });
  let left = snapshot.jobs.filter(({ isAsked }) => isAsked).length;
  let [startMs, endMs] = [Number.POSITIVE_INFINITY, 0];
  for await (const ended of simulation.run(submissionsOf(snapshot, change))) {
    for (const end of ended) {
      if (!end.job.of.isAsked) continue;
      left--;
      startMs = Math.min(startMs, firstStartOf(end));
      endMs = Math.max(endMs, end.completed ? end.endedMs : Number.POSITIVE_INFINITY);
    }
    if (left === 0) break;
  }
  const since = (ms: Millis): Millis | null => (Number.isFinite(ms) ? Math.max(0, ms - RESUMED_MS) : null);
  return { startMs: since(startMs), endMs: left > 0 ? null : since(endMs) };
}

async function settingsOf({ policy }: Snapshot, change: JobChange): Promise<PolicySettings> {
  const name = change.policy ?? policy.policy;
  // A name from the network must not load a file.
  if (isCustom(name))
    throw new InputError('bad-request', `policy ${name} is in a file, which predictions do not load`);
  await loadPolicy(name, process.cwd());
  // The jobs carry the best known run times as estimates.
  const estimator = 'given';
  if (name === policy.policy) return { ...policy, estimator };
  const cutoff = `${policy.cutoffMs / 1_000}`;
  return policySettings(optionsGiven(POLICY_OPTIONS, { policy: name, estimator, cutoff }), name);
}

function* submissionsOf({ jobs }: Snapshot, { priority }: JobChange): Iterable<Submission> {
  for (const [index, of] of jobs.entries()) {
    const submitMs = (of.isRunning ? 0 : RESUMED_MS) + index * APART_MS;
    const spec = withOneEmptyDemand(of.spec);
    yield { submitMs, spec: of.isAsked && priority !== undefined ? { ...spec, priority } : spec, of };
  }
}

/** Machines compare an empty demand by identity, which a copy for a thread does not keep. */
function withOneEmptyDemand(spec: JobSpec): JobSpec {
  const stages = spec.stages.map((stage) =>
    Object.keys(stage.demand).length === 0 ? { ...stage, demand: NO_RESOURCES } : stage,
  );
  return { ...spec, stages };
}

function firstStartOf({ startsMs, job }: SimulatedEnd<Submission>): Millis {
  const starts = [...startsMs].filter((start, task) => job.of.waits[task] && start >= 0);
  return starts.reduce((least, start) => Math.min(least, start), Number.POSITIVE_INFINITY);
}
