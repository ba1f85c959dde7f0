import { invariant } from '@goshawk/core';
import { isActive, type Registry, type WorkerRecord } from './registry.js';
import type { Split } from './split.js';

/** What holds of who is in the cluster between any two steps. */
export function checkMembership(
  registry: Registry,
  split: Split,
  isMislabelled: (worker: WorkerRecord) => boolean,
): void {
  const active = [...registry.workers.values()].filter(isActive);
  const short = active.filter(({ partition }) => partition === 'short').length;
  invariant(
    active.length === split.active && short === split.short,
    () => `${short} of ${active.length} are short, counted ${split.short} of ${split.active}`,
  );
  for (const worker of registry.workers.values()) {
    invariant(!isMislabelled(worker), () => `${worker.name} is in the short partition and holds long tasks`);
  }
}
