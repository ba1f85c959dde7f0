import { type Attributes, formatAttributes, sumOf, type Vector } from '@goshawk/core';
import { formatAmounts, type PolicyExplanation, type StageView, type WorkerView } from '@goshawk/policies';

/** Facts for the sentences: names of the resources, and workers that accept tasks. */
interface Facts {
  readonly resources: readonly string[];
  readonly open: readonly WorkerView[];
}

export function explainRequired(requires: Attributes): PolicyExplanation {
  return { reason: 'required', sentence: `no worker that accepts tasks has ${formatAttributes(requires)}` };
}

export function tooLarge(demand: Vector, { resources, open }: Facts): PolicyExplanation {
  if (open.length === 0) return { reason: 'no-worker', sentence: 'no worker accepts tasks' };
  const needs = formatAmounts(demand, resources);
  return { reason: 'resources', sentence: `each task needs ${needs}: more than any worker has` };
}

export function blockedBy({ job, demand }: StageView, { resources }: Facts): PolicyExplanation {
  const head = `job ${job.name}`;
  return {
    reason: 'matching',
    sentence: `first come, first served: ${head} is first and needs ${formatAmounts(demand, resources)}, which no worker has free`,
  };
}

export function explainNoRoom(demand: Vector, { resources, open }: Facts): PolicyExplanation {
  let roomiest: WorkerView | undefined;
  for (const worker of open)
    if (roomiest === undefined || shareFree(worker) > shareFree(roomiest)) roomiest = worker;
  if (roomiest === undefined) return { reason: 'no-worker', sentence: 'no worker accepts tasks' };
  const most = formatAmounts(roomiest.free, resources);
  return {
    reason: 'resources',
    sentence: `each task needs ${formatAmounts(demand, resources)}; the largest free amount at a worker is ${most}`,
  };
}

export function explainDeclined(stage: StageView, { resources, open }: Facts): PolicyExplanation {
  const others = open.filter((worker) => stage.declinedBy?.has(worker) !== true);
  if (others.length > 0) return explainNoRoom(stage.demand, { resources, open: others });
  return {
    reason: 'resources',
    sentence: 'it failed at every worker that takes work, and tries these again after a while',
  };
}

/**
 * @param type a type of partition I
 * @param waiting number of waiting tasks of the type
 * @param configured number of workers whose configuration contains the type
 */
export function noConfiguration(
  type: number,
  j: number,
  waiting: number,
  configured: number,
): PolicyExplanation {
  const m = type >> 1;
  const [largest, cut, least] = [2 ** m, 1.5 * 2 ** m, 2 ** (m + 1)].map(fraction);
  const below = type === 2 * j - 1 ? '0' : least;
  const sizes =
    type % 2 === 0 ? `more than ${cut}, at most ${largest}` : `more than ${below}, at most ${cut}`;
  const tasks = waiting === 1 ? '1 task' : `${waiting} tasks`;
  return {
    reason: 'matching',
    sentence:
      `${tasks} of ${sizes} of a worker wait for a worker configured for that size; ` +
      `${configured} ${configured === 1 ? 'is, and is full' : 'are, and are full'}; an empty worker chooses a new configuration`,
  };
}

/** Formats `2/3` for 1.5, `1/4` for 4. */
function fraction(parts: number): string {
  if (parts === 1) return '1';
  return parts === 1.5 ? '2/3' : `1/${parts}`;
}

function shareFree({ capacity, free }: WorkerView): number {
  return sumOf(capacity, (all, index) => (all > 0 && Number.isFinite(all) ? free[index]! / all : 0));
}
