import { meanOf } from '@goshawk/core';
import type { Staged } from './point.js';
import type { FigureResult } from './result.js';
import { assessTrials, type TrialRuns } from './trials.js';

/** From staged runs to a figure's numbers and verdicts: means over the seeds. */
export function assessStaged(runs: TrialRuns<Staged>): FigureResult {
  return assessTrials(runs, 'staged', meansOver);
}

function meansOver(runs: readonly Staged[]): Staged {
  const mean = (of: keyof Staged) => meanOf(runs, (run) => run[of]);
  return {
    meanSeconds: mean('meanSeconds'),
    p95Seconds: mean('p95Seconds'),
    makespanSeconds: mean('makespanSeconds'),
    fairness: mean('fairness'),
    slower: mean('slower'),
    muchSlower: mean('muchSlower'),
  };
}
