import {
  type Address,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type PolicySettings,
  PRESETS,
} from '@goshawk/core';
import type { SchedulerConfig, SchedulerEnvironment } from './contract.js';
import { Scheduler } from './scheduler.js';

export const CENTRAL = 1 as Address;
export const CLIENT = 2 as Address;
export const [W1, W2] = [11, 12] as [Address, Address];

/** A scheduler with a given environment; the test plays all other parties. */
export function loneScheduler(
  config: Partial<SchedulerConfig>,
  env: Pick<SchedulerEnvironment, 'send'> & Partial<SchedulerEnvironment>,
): Scheduler {
  return new Scheduler(
    {
      name: 's',
      self: 3 as Address,
      tag: 's',
      endpoint: '',
      central: CENTRAL,
      enlistRetryMs: LIVE_TIMINGS.heartbeatMs,
      wallOffsetMs: 0,
      endedJobsMax: 100,
      logBytesMax: 1_000,
      ...config,
    },
    Object.assign(new LoneEnvironment(), env),
  );
}

/** A class, like real environments, so that methods called without `this` fail. */
class LoneEnvironment {
  readonly #share = 0.5;

  random(): number {
    return this.#share;
  }

  setTimer(): void {}
  clearTimer(): void {}
  nameOf(address: Address): string {
    return `party ${address}`;
  }
  jobEnded(): void {}
  drained(): void {}
}

/** Central's welcome of a scheduler. */
export function welcome(policy: Partial<PolicySettings> = {}): Message {
  return {
    type: 'welcome',
    settings: {
      policy: { ...DEFAULT_POLICY, preset: { ...PRESETS.sparrow }, ...policy },
      timings: LIVE_TIMINGS,
    },
  };
}

/** Central reports these workers, from the first version of its list on. */
export function joined(version: number, workers: readonly Address[], slots = 1): Message {
  return {
    type: 'members',
    version,
    since: 0,
    changed: workers.map((address, row) => ({
      address,
      name: `w${address}`,
      slots,
      capacity: {},
      partition: 'general',
      draining: false,
      row,
      attributes: [],
    })),
    left: [],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  };
}

/** A user or project in `limits` that has none. */
export const NO_LIMITS = {
  project: undefined,
  running: undefined,
  cpus: undefined,
  memory: undefined,
  gpus: undefined,
  waiting: undefined,
  journal: undefined,
  runTime: undefined,
  lapse: undefined,
};
