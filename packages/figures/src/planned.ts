import type { Planned } from './point.js';
import type { FigureResult } from './result.js';
import { assessTrials, type TrialRuns } from './trials.js';

/** What was run for a planned figure. */
export type PlannedRuns = TrialRuns<Planned>;

/** From planned runs to a figure's numbers and verdicts: means over the seeds. */
export function assessPlanned(runs: PlannedRuns): FigureResult {
  return assessTrials(runs, 'planned', meanOf);
}

function meanOf(runs: readonly Planned[]): Planned {
  const mean = (of: (run: Planned) => number) => runs.reduce((sum, run) => sum + of(run), 0) / runs.length;
  return {
    missed: mean(({ missed }) => missed),
    goodputHours: {
      deadline: mean(({ goodputHours }) => goodputHours.deadline),
      bestEffort: mean(({ goodputHours }) => goodputHours.bestEffort),
    },
    bestEffortSeconds: mean(({ bestEffortSeconds }) => bestEffortSeconds),
    preemptions: mean(({ preemptions }) => preemptions),
  };
}
