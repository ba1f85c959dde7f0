import { invariant } from '@goshawk/core';
import { objectiveOf } from '@goshawk/policies';
import { chosenColumns, type Formulated } from './formulate.js';
import type { GangStart, Option, Plan, Problem, Space } from './problem.js';
import { type PartitionSet, setOf } from './sets.js';

/**
 * A plan; or, if the program lacked rows (`UNIONS_MAX`), a union of partitions in which the starts exceed the
 * free nodes.
 */
export type Extracted =
  | { readonly kind: 'plan'; readonly plan: Plan }
  | { readonly kind: 'overfull'; readonly union: PartitionSet; readonly jobs: readonly number[] };

/**
 * Turns a solution into a plan. Gangs that start now are spread over partitions. Unnecessary preemptions are
 * dropped, most expensive first.
 */
export function extract(problem: Problem, formulated: Formulated, values: Float64Array): Extracted {
  const { options, candidates, capacity, program } = formulated;
  const chosen = chosenColumns(values, options.length + candidates.length);
  const placed = chosen.filter((column) => column < options.length).map((column) => options[column]!);
  const now = placed.filter(({ slot }) => slot === 0);
  // Present use is known, so these are integers.
  const free = capacity[0]!.map(Math.round);
  const asked = chosen
    .filter((column) => column >= options.length)
    .map((column) => candidates[column - options.length]!);
  const needed = neededPreempts(problem, now, free, asked);
  if ('union' in needed) return { kind: 'overfull', union: needed.union, jobs: needed.jobs };
  return {
    kind: 'plan',
    plan: {
      preempts: needed.preempts,
      starts: needed.starts,
      planned: placed.filter(({ slot }) => slot !== 0),
      objective: objectiveOf(program, values),
    },
  };
}

function neededPreempts(
  { running, pending }: Problem,
  now: readonly Option[],
  free: readonly number[],
  asked: readonly number[],
): (Spread & { readonly preempts: readonly number[] }) | Overcommitted {
  const gangs = now.map(({ job, space }) => ({
    job,
    nodes: pending[job]!.nodes,
    space: pending[job]!.spaces[space]!,
  }));
  const freedBy = (preempts: readonly number[]) =>
    free.map((nodes, x) => preempts.reduce((sum, index) => sum + running[index]!.nodes[x]!, nodes));
  let preempts = asked.toSorted((a, b) => running[b]!.preemptCost! - running[a]!.preemptCost! || a - b);
  let spread = spreadOver(gangs, freedBy(preempts));
  if ('union' in spread) return spread;
  for (const index of preempts) {
    const without = preempts.filter((other) => other !== index);
    const narrower = spreadOver(gangs, freedBy(without));
    if ('union' in narrower) continue;
    preempts = without;
    spread = narrower;
  }
  return { ...spread, preempts };
}

interface Gang {
  readonly job: number;
  readonly nodes: number;
  readonly space: Space;
}

interface Spread {
  readonly starts: readonly GangStart[];
}

interface Overcommitted {
  readonly union: PartitionSet;
  readonly jobs: readonly number[];
}

/**
 * Assigns nodes to each gang by augmenting paths, with preference for partitions with the most free nodes. If
 * the gangs do not all fit, returns the partitions of the minimum cut.
 */
function spreadOver(gangs: readonly Gang[], free: readonly number[]): Spread | Overcommitted {
  const left = [...free];
  const taken = gangs.map(() => free.map(() => 0));
  for (const [index, gang] of gangs.entries()) {
    for (let missing = gang.nodes; missing > 0; ) {
      const path = pathFrom(index, gangs, taken, left);
      if ('reached' in path) {
        const jobs = path.reached.map((each) => gangs[each]!);
        return {
          union: jobs.reduce((union, { space }) => union | setOf(space.partitions), 0n),
          jobs: jobs.map(({ job }) => job),
        };
      }
      missing -= augment(path.steps, taken, left, missing);
    }
  }
  return { starts: gangs.map(({ job }, index) => ({ job, nodes: taken[index]! })) };
}

/**
 * One step of a path: the gang takes nodes of the partition from the next gang of the path, or free nodes at
 * its end.
 */
interface Step {
  readonly gang: number;
  readonly partition: number;
}

function pathFrom(
  from: number,
  gangs: readonly Gang[],
  taken: readonly (readonly number[])[],
  left: readonly number[],
): { readonly steps: readonly Step[] } | { readonly reached: readonly number[] } {
  /** How each gang was reached: by giving up nodes of that partition to the previous gang. */
  const reachedBy = new Map<number, Step | undefined>([[from, undefined]]);
  const seen = new Set<number>();
  // Breadth-first search: iteration over a map includes entries that are added during it.
  for (const gang of reachedBy.keys()) {
    const { partitions } = gangs[gang]!.space;
    const best = partitions.reduce((most, x) => (most < 0 || left[x]! > left[most]! ? x : most), -1);
    invariant(best >= 0, 'a space of no partitions has no options');
    if (left[best]! > 0) return { steps: stepsTo(gang, best, reachedBy) };
    for (const x of partitions) {
      if (seen.has(x)) continue;
      seen.add(x);
      for (let other = 0; other < gangs.length; other++) {
        if (taken[other]![x]! > 0 && !reachedBy.has(other)) reachedBy.set(other, { gang, partition: x });
      }
    }
  }
  return { reached: [...reachedBy.keys()] };
}

function stepsTo(gang: number, partition: number, reachedBy: ReadonlyMap<number, Step | undefined>): Step[] {
  const steps: Step[] = [{ gang, partition }];
  for (let by = reachedBy.get(gang); by !== undefined; by = reachedBy.get(by.gang)) steps.unshift(by);
  return steps;
}

function augment(steps: readonly Step[], taken: number[][], left: number[], missing: number): number {
  const end = steps.at(-1)!;
  let amount = Math.min(missing, left[end.partition]!);
  for (const [at, { partition }] of steps.entries()) {
    const next = steps[at + 1];
    if (next !== undefined) amount = Math.min(amount, taken[next.gang]![partition]!);
  }
  for (const [at, { gang, partition }] of steps.entries()) {
    taken[gang]![partition]! += amount;
    const next = steps[at + 1];
    if (next !== undefined) taken[next.gang]![partition]! -= amount;
  }
  left[end.partition]! -= amount;
  return amount;
}
