import type { Amounts } from '@goshawk/policies';
import type { PlanProblem } from './forward.js';
import { type ForwardRules, forward, type Placement } from './forward.js';
import { Profile } from './profile.js';

export interface Plan {
  /** Time until the last task ends if the job has only its share. */
  readonly endMs: number;
  /** Tasks that the job starts now if it yields nothing, by stage. */
  readonly greedyNow: Int32Array;
  /** Latest starts that keep the end, by stage, ascending. */
  readonly starts: readonly (readonly Start[])[];
}

export interface Start {
  /** Time of the start, relative to the time of the plan. */
  atMs: number;
  count: number;
}

/**
 * Determines the starts that let a job end as early as with its share alone (Carbyne §3.3.2). The forward
 * schedule is right-justified: each task, last first, moves to the latest time at which it fits before its
 * children. The paper instead packs the reversed graph again, which can end later than the forward schedule.
 */
export function planJob(problem: PlanProblem, rules: ForwardRules): Plan {
  const { placements, endMs } = forward(problem, rules);
  const { stages } = problem;
  const greedyNow = new Int32Array(stages.length);
  for (const { stage, startMs, count } of placements) if (startMs === 0) greedyNow[stage]! += count;
  return { endMs, greedyNow, starts: rightJustified(problem, placements, endMs) };
}

/**
 * Moves each task to its latest start, last end first. A task always fits at its forward start, because the
 * tasks placed before it have only moved later. So no task ends after `endMs`.
 */
function rightJustified(
  { stages, running, share, whole }: PlanProblem,
  placements: readonly Placement[],
  endMs: number,
): Start[][] {
  const profile = new Profile(share, whole);
  const needs = stages.map(({ demand }) => profile.needOf(demand));
  for (const { stage, remainingMs } of running) profile.add(0, remainingMs, needs[stage]!, 1);
  const childrenStart = new Float64Array(stages.length).fill(endMs);
  const starts: Start[][] = stages.map(() => []);
  // Upper bound of further starts, by stage. Room only shrinks, so a later start stays impossible.
  const latestStart = new Float64Array(stages.length).fill(Number.POSITIVE_INFINITY);
  const order = [...placements].sort(
    (a, b) => b.endMs - a.endMs || b.startMs - a.startMs || b.stage - a.stage,
  );
  for (const { stage, startMs, count } of order) {
    const { durationMs, parents } = stages[stage]!;
    const need = needs[stage]!;
    let left = count;
    let latest = Math.min(childrenStart[stage]! - durationMs, latestStart[stage]!);
    while (left > 0) {
      const fits = profile.latest(startMs, latest, durationMs, need, left);
      latest = profile.foundMs;
      profile.add(latest, latest + durationMs, need, fits);
      starts[stage]!.push({ atMs: latest, count: fits });
      for (const parent of parents) childrenStart[parent] = Math.min(childrenStart[parent]!, latest);
      left -= fits;
    }
    latestStart[stage] = latest;
  }
  for (const each of starts) each.sort((a, b) => a.atMs - b.atMs);
  return starts;
}

/** Longest path from the start of each stage to the end of the job, in ms, with unlimited resources. */
export function pathsToEnd(
  stages: readonly { readonly durationMs: number; readonly parents: readonly number[] }[],
): Float64Array {
  const below = new Float64Array(stages.length);
  for (const stage of topological(stages).reverse()) {
    below[stage]! += stages[stage]!.durationMs;
    for (const parent of stages[stage]!.parents) below[parent] = Math.max(below[parent]!, below[stage]!);
  }
  return below;
}

/** Depth of each stage: 0 without parents, else one more than the deepest parent. */
export function depths(stages: readonly { readonly parents: readonly number[] }[]): Int32Array {
  const depth = new Int32Array(stages.length);
  for (const stage of topological(stages)) {
    for (const parent of stages[stage]!.parents) depth[stage] = Math.max(depth[stage]!, depth[parent]! + 1);
  }
  return depth;
}

/** Sorts stages so that parents precede their children. */
function topological(stages: readonly { readonly parents: readonly number[] }[]): number[] {
  const order: number[] = [];
  const isSeen = new Uint8Array(stages.length);
  const visit = (stage: number): void => {
    if (isSeen[stage] === 1) return;
    isSeen[stage] = 1;
    for (const parent of stages[stage]!.parents) visit(parent);
    order.push(stage);
  };
  stages.forEach((_, stage) => {
    visit(stage);
  });
  return order;
}

/** Largest demand of any stage, by resource. A smaller share has no plan. */
export function largestDemand(
  stages: Iterable<{ readonly demand: Amounts }>,
  resources: number,
): Float64Array {
  const largest = new Float64Array(resources);
  for (const { demand } of stages) {
    for (let r = 0; r < resources; r++) largest[r] = Math.max(largest[r]!, demand[r] ?? 0);
  }
  return largest;
}
