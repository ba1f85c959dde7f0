import { sumOf } from '@goshawk/core';
import { scale } from './distribution.js';
import { DEFERRED, type Option, type PendingGang, type Problem, type Space } from './problem.js';
import { expectedUtility } from './utility.js';

/** What is worth less is left out (§4.3.6: terms of zero go). */
const LEAST_UTILITY = 1e-9;

/** Every way to start every job, job by job, those of a job by space and time. */
export function optionsOf(problem: Problem): Option[] {
  const { pending, partitions } = problem;
  const nodesOf = (space: Space) => sumOf(space.partitions, (x) => partitions[x]!.nodes);
  return pending.flatMap((gang, job) => {
    const options = gang.spaces.flatMap((space, index) =>
      gang.nodes > nodesOf(space) ? [] : optionsIn(problem, gang, job, index),
    );
    if (gang.deferral > LEAST_UTILITY)
      options.push({ job, space: 0, slot: DEFERRED, utility: gang.deferral });
    return options;
  });
}

function optionsIn({ starts, now }: Problem, gang: PendingGang, job: number, space: number): Option[] {
  const distribution = scale(gang.distribution, gang.spaces[space]!.slowdown);
  const options: Option[] = [];
  for (let slot = 0; slot < starts.length; slot++) {
    const start = now + starts[slot]!;
    if (start >= gang.startsBefore || (gang.onlyNow && slot > 0)) break;
    const utility = expectedUtility(gang.utility, distribution, start);
    if (utility > LEAST_UTILITY) options.push({ job, space, slot, utility });
  }
  return options;
}
