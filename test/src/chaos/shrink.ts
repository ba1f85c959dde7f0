import { withIndices } from './draw-plan.js';
import type { Plan } from './plan.js';
import { play } from './run.js';

/** Returns the violated rule, without details. */
export function kindOf(complaint: string): string {
  return complaint.slice(0, complaint.indexOf(':'));
}

/** Maximum number of runs. */
const TRIES_MAX = 400;

/**
 * Removes everything that is not needed to reproduce the failure: faults, then orders, then special properties of the
 * remaining orders.
 */
export async function shrink(plan: Plan, kind: string): Promise<Plan> {
  let tries = 0;
  const isStillBroken = async (smaller: Plan): Promise<boolean> => {
    if (++tries > TRIES_MAX) return false;
    const { complaints } = await play(smaller);
    return complaints.some((complaint) => kindOf(complaint) === kind);
  };
  let smallest = plan;
  for (let before = Number.POSITIVE_INFINITY; sizeOf(smallest) < before; ) {
    before = sizeOf(smallest);
    for (const part of ['faults', 'orders', 'workers'] as const) {
      const isEnough = (some: readonly unknown[]): Promise<boolean> =>
        // Without workers no job ends, which is expected.
        part === 'workers' && some.length === 0
          ? Promise.resolve(false)
          : isStillBroken({ ...smallest, [part]: some });
      const kept = await reduce<unknown>(smallest[part], isEnough);
      smallest = { ...smallest, [part]: kept };
    }
    smallest = await simplify(smallest, isStillBroken);
  }
  return smallest;
}

function sizeOf({ faults, orders, workers }: Plan): number {
  return JSON.stringify([faults, orders, workers]).length;
}

/** Leaves out halves, quarters … of the list, as long as the run still fails. */
async function reduce<T>(
  list: readonly T[],
  isEnough: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = list;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < kept.length; ) {
      const without = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (without.length < kept.length && (await isEnough(without))) kept = without;
      else from += size;
    }
  }
  return kept;
}

/** Tries fewer tasks, no second client, no cancellation and correct clocks. */
async function simplify(plan: Plan, isEnough: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan;
  const attempt = async (smaller: Plan): Promise<void> => {
    if (JSON.stringify(smaller) !== JSON.stringify(smallest) && (await isEnough(smaller))) smallest = smaller;
  };
  const withoutDrift = <T extends object>(process: T): T => ({ ...process, drift: 0, wallErrorMs: 0 });
  await attempt({
    ...smallest,
    central: withoutDrift(smallest.central),
    workers: smallest.workers.map(withoutDrift),
    schedulers: smallest.schedulers.map(withoutDrift),
  });
  for (const name of ['doubledAfterMs', 'conflictAfterMs', 'cancelAfterMs'] as const) {
    for (let i = 0; i < smallest.orders.length; i++) {
      await attempt({
        ...smallest,
        orders: smallest.orders.map((order, at) => (at === i ? { ...order, [name]: undefined } : order)),
      });
    }
  }
  for (let i = 0; i < smallest.orders.length; i++) {
    const { tasks } = smallest.orders[i]!.job;
    if (!Array.isArray(tasks)) continue;
    const kept = await reduce(tasks, (some) =>
      some.length === 0 ? Promise.resolve(false) : isEnough(withTasks(smallest, i, some)),
    );
    smallest = withTasks(smallest, i, kept);
  }
  return smallest;
}

function withTasks(plan: Plan, at: number, tasks: readonly unknown[]): Plan {
  const orders = plan.orders.map((order, i) =>
    i === at ? { ...order, job: { ...order.job, tasks } } : order,
  );
  return withIndices({ ...plan, orders: orders as Plan['orders'] });
}
