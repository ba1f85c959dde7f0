import { type Millis, slotsIn, sumOf } from '@goshawk/core';
import type { CentralPolicy, ClusterView, StageView, WorkerView } from './contract.js';
import { countIn, fitsNow, gangSize, spreadLimit } from './fitting.js';

/**
 * Stages that could start now: there is room, and the policy gives no reason (`explain`) to hold them back, or a reserve
 * that short tasks could borrow instead. Policies without `explainsAll` are not checked.
 *
 * @param waiting all waiting stages
 */
export function startable(
  waiting: readonly StageView[],
  policy: CentralPolicy,
  cluster: ClusterView,
  now: Millis,
): StageView[] {
  if (policy.explainsAll !== true) return [];
  const workers = [...cluster.workers].filter(({ open }) => open);
  return waiting.filter((stage) => {
    if (!hasRoomFor(stage, workers) || mayWaitForPreferred(stage)) return false;
    if (spreadLimit(stage, workers) !== undefined) return false;
    const why = policy.explain?.(stage, cluster, now);
    return why === undefined || (why.reason === 'reserve' && keepsTooMuch(policy, workers, now));
  });
}

/** Whether the CPUs that stay free, and those that short tasks could borrow, are more than the reserve for them. */
function keepsTooMuch(policy: CentralPolicy, workers: readonly WorkerView[], now: Millis): boolean {
  const { reserve, lendable = 0 } = policy.line?.(now) ?? {};
  if (reserve === undefined) return false;
  const free = sumOf(workers, (worker) => Math.max(0, Math.floor(slotsIn(worker.free))));
  return free + Math.floor(lendable) > reserve;
}

function hasRoomFor(stage: StageView, workers: readonly WorkerView[]): boolean {
  let left = gangSize(stage);
  for (const worker of workers) {
    if (fitsNow(stage, worker))
      left -= Math.min(worker.roomFor(stage.demand), countIn(stage, worker.free, left));
    if (left <= 0) return true;
  }
  return false;
}

/** A job with a deadline may wait for a preferred worker. */
function mayWaitForPreferred({ job: { deadlineAt, prefers } }: StageView): boolean {
  return deadlineAt < Number.POSITIVE_INFINITY && Object.keys(prefers).length > 0;
}

/** Verifies work conservation: no room stays free while a task that fits there waits. */
export class WorkConservation {
  readonly #graceMs: Millis;
  #since = new Map<StageView, Millis>();

  /** @param graceMs time for messages in flight: three round trips */
  constructor(graceMs: Millis) {
    this.#graceMs = graceMs;
  }

  /** @returns one line that describes a violation, if there is one */
  check(stages: readonly StageView[], now: Millis): string | undefined {
    const since = this.#since;
    this.#since = new Map(stages.map((stage) => [stage, since.get(stage) ?? now]));
    for (const [{ job, index, demand, waiting }, from] of this.#since) {
      if (now - from <= this.#graceMs) continue;
      return (
        `idle: ${waiting} tasks of stage ${index} of job ${job.name} wait, and need ${demand.join()}; ` +
        `there has been room for ${now - from} ms`
      );
    }
    return undefined;
  }
}
