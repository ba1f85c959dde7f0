import { concatenated, present, type Resources } from '@goshawk/core';
import type { TraceJob, TraceStage } from '../job.js';

/** A stage as in a file, in any order. */
export interface StageInFile {
  readonly name: string;
  /** Indices of its parents in the list of stages. */
  readonly after: readonly number[];
  readonly durationsSeconds: Float64Array;
  readonly demand?: Resources;
  readonly require?: Readonly<Record<string, string>>;
  readonly gang?: boolean;
  readonly lend?: boolean;
  readonly estimateSeconds?: number;
}

/**
 * Sorts the stages of a job topologically, as in `TraceJob`, keeping their order as far as possible.
 *
 * @returns the name of a stage in a cycle, if there is one
 */
export function inRunningOrder(
  stages: readonly StageInFile[],
): Required<Pick<TraceJob, 'durationsSeconds' | 'stages'>> | { readonly cycle: string } {
  const order: number[] = [];
  const placeOf = new Int32Array(stages.length).fill(UNSEEN);
  /** Number of placed parents by stage, so that the search resumes there: a stage may have 100,000 parents. */
  const placed = new Int32Array(stages.length);
  for (let root = 0; root < stages.length; root++) {
    const path = [root];
    while (path.length > 0) {
      const at = path.at(-1)!;
      if (placeOf[at]! >= 0) {
        path.pop();
        continue;
      }
      placeOf[at] = ON_PATH;
      const { after } = stages[at]!;
      while (placeOf[after[placed[at]!]!]! >= 0) placed[at]!++;
      const parent = after[placed[at]!];
      if (parent === undefined) {
        placeOf[at] = order.length;
        order.push(at);
        path.pop();
      } else if (placeOf[parent] === ON_PATH) {
        return { cycle: stages[parent]!.name };
      } else {
        path.push(parent);
      }
    }
  }
  return {
    durationsSeconds: concatenated(order.map((at) => stages[at]!.durationsSeconds)),
    stages: order.map((at): TraceStage => {
      const { name, after, durationsSeconds, demand, require, gang, lend, estimateSeconds } = stages[at]!;
      return {
        name,
        after: [...new Set(after)].map((parent) => placeOf[parent]!),
        tasks: durationsSeconds.length,
        ...present({ demand, require, gang, lend, estimateSeconds }),
      };
    }),
  };
}

const UNSEEN = -1;
const ON_PATH = -2;
