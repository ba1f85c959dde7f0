import { type Address, type ClusterSettings, NO_RESOURCES, NOBODY, Random } from '@goshawk/core';
import type { WorkerEnvironment } from './contract.js';
import { WorkerState } from './state.js';

/** Returns the state of an idle member with one slot. @param env callbacks that replace the default no-ops */
export function idleWorker(
  self: Address,
  seed: string,
  { timings }: Pick<ClusterSettings, 'timings'>,
  env: Partial<WorkerEnvironment>,
): WorkerState {
  const random = Random.seeded(seed);
  const ignore = () => {};
  const config = { name: 'w', self, slots: 1, capacity: NO_RESOURCES, central: NOBODY, registerRetryMs: 0 };
  const w = new WorkerState(config, {
    random: () => random.next(),
    send: ignore,
    setTimer: ignore,
    clearTimer: ignore,
    nameOf: String,
    execute: ignore,
    kill: ignore,
    pause: ignore,
    resume: ignore,
    drained: ignore,
    ...env,
  });
  w.timings = timings;
  w.membership.central = 1_000 as Address;
  return w;
}
