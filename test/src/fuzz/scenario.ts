import {
  type ClusterSettings,
  effectiveScope,
  type JobInput,
  type MessageType,
  type Resources,
} from '@goshawk/core';
import { Draw } from '../drawing/draw.js';
import { CUTOFF_MS, drawSettings } from '../drawing/settings.js';
import { inStages } from '../drawing/stages.js';

/** What may happen to a cluster in a run. Everything else is drawn from the seed. */
export interface FaultProfile {
  /** Workers are killed and come back under their names as new incarnations. */
  readonly workersDie?: boolean;
  /** Workers are cut off for longer than their lease, then heard again. */
  readonly workersCutOff?: boolean;
  readonly schedulersDie?: boolean;
  /** Schedulers are killed and come back with their disks, which lack what was not synced. */
  readonly schedulersReturn?: boolean;
  readonly schedulersCutOff?: boolean;
  readonly centralDies?: boolean;
  /** Connections to central break and are made anew, with it there all the while; more of them are said to than do. */
  readonly centralDisconnects?: boolean;
  /** Central has too much to do, and then again time. */
  readonly centralBusy?: boolean;
  /** Workers drain: for good, as by SIGTERM, or until the operator says otherwise. */
  readonly drains?: boolean;
  readonly cancels?: boolean;
  readonly lost?: readonly MessageType[];
  readonly doubled?: readonly MessageType[];
}

export type Fault =
  | 'killWorker'
  | 'cutOffWorker'
  | 'killScheduler'
  | 'restartScheduler'
  | 'cutOffScheduler'
  | 'killCentral'
  | 'disconnectCentral'
  | 'loadCentral'
  | 'unloadCentral'
  | 'terminateWorker'
  | 'drainWorker'
  | 'undrainWorker'
  | 'cancelJob';

export type Incident =
  | { readonly at: number; readonly kind: 'submit'; readonly job: JobInput }
  | { readonly at: number; readonly kind: Fault };

export interface Scenario {
  readonly seed: string;
  readonly settings: ClusterSettings;
  readonly workers: number;
  readonly slots: number;
  readonly capacity: Resources;
  readonly schedulers: number;
  /** A message takes at most so long, unless its sender or receiver is cut off. ms */
  readonly delayMaxMs: number;
  /** How eagerly messages are delivered before the clock goes on; in (0, 1). */
  readonly eagerness: number;
  readonly killMs: number;
  readonly incidents: readonly Incident[];
  readonly faultProfile: FaultProfile;
}

/** Everything about a run, from its seed. */
export function drawScenario(seed: string, faultProfile: FaultProfile): Scenario {
  const draw = new Draw(seed);
  const workers = draw.int(3, 8);
  const capacity: Resources = draw.chance(0.3) ? { memory: 10 } : {};
  const incidents: Incident[] = [];
  for (let i = draw.int(4, 16); i > 0; i--) {
    incidents.push({ at: draw.int(1_500, 8_000), kind: 'submit', job: drawJob(draw, capacity) });
  }
  for (const kind of faultsOf(faultProfile)) {
    for (let i = draw.int(0, 3); i > 0; i--) incidents.push({ at: draw.int(1_500, 12_000), kind });
  }
  const settings = drawSettings(draw, ['given', 'pilot', 'pilot', 'hybrid']);
  return {
    seed,
    settings,
    workers,
    slots: draw.pick([1, 1, 2, 3]),
    capacity,
    schedulers: draw.int(1, 3),
    delayMaxMs: draw.pick([1, 30, 300, 2_000]),
    eagerness: draw.pick([0.5, 0.8, 0.95, 0.99]),
    killMs: draw.pick([0, 0, 5, 100]),
    incidents: requiring(incidents, seed, settings).sort((one, other) => one.at - other.at),
    faultProfile,
  };
}

/** Zones of workers. */
export const ZONES = ['east', 'west'] as const;

/**
 * Some jobs require one of two zones. Not where there are partitions: the workers of a zone may all come to be in the one
 * that the job may not use.
 */
function requiring(incidents: readonly Incident[], seed: string, { policy }: ClusterSettings): Incident[] {
  const hasPartitions = (['general', 'short'] as const).some(
    (scope) => effectiveScope(policy.preset, scope) !== 'all',
  );
  const draw = new Draw(`${seed}/requirements`);
  return incidents.map((incident) =>
    incident.kind === 'submit' && !hasPartitions && draw.chance(0.3)
      ? { ...incident, job: { ...incident.job, require: { zone: draw.pick(ZONES) } } }
      : incident,
  );
}

function faultsOf(faultProfile: FaultProfile): Fault[] {
  const faults: Fault[] = [];
  if (faultProfile.workersDie) faults.push('killWorker');
  if (faultProfile.workersCutOff) faults.push('cutOffWorker');
  if (faultProfile.schedulersDie) faults.push('killScheduler');
  if (faultProfile.schedulersReturn) faults.push('restartScheduler', 'restartScheduler');
  if (faultProfile.schedulersCutOff) faults.push('cutOffScheduler');
  if (faultProfile.centralDies) faults.push('killCentral');
  if (faultProfile.centralDisconnects) faults.push('disconnectCentral', 'disconnectCentral');
  if (faultProfile.centralBusy) faults.push('loadCentral', 'unloadCentral', 'loadCentral', 'unloadCentral');
  if (faultProfile.drains) faults.push('terminateWorker', 'drainWorker', 'undrainWorker');
  if (faultProfile.cancels) faults.push('cancelJob', 'cancelJob');
  return faults;
}

function drawJob(draw: Draw, capacity: Resources): JobInput {
  const long = draw.chance(0.35);
  const sleepMs = () => (long ? draw.int(CUTOFF_MS, 3_000) : draw.int(1, 200));
  const tasks = () => Array.from({ length: draw.int(1, 8) }, () => ({ sleep: sleepMs() }));
  const stages = draw.int(1, 4);
  const demanding = capacity.memory !== undefined && draw.chance(0.6);
  return {
    estimate: long ? CUTOFF_MS * draw.int(1, 4) : draw.int(0, CUTOFF_MS - 1),
    retries: draw.pick([0, 0, 1, 3]),
    ...(draw.chance(0.15) ? { timeout: long ? 1_000 : 100 } : {}),
    ...(draw.chance(0.25) ? { maxRunning: draw.int(1, 4) } : {}),
    ...(demanding ? { demand: { memory: draw.int(1, 10) } } : {}),
    ...inStages(draw, stages, tasks),
  };
}
