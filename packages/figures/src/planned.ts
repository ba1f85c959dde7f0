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
    ...times('cycleSeconds', runs),
    ...times('predictionSeconds', runs),
  };
}

/** The greatest of the seeds. */
function times(of: 'cycleSeconds' | 'predictionSeconds', runs: readonly Planned[]): Partial<Planned> {
  const known = runs.flatMap((run) => run[of] ?? []);
  if (known.length === 0) return {};
  const most = (part: 'p50' | 'p99' | 'max') => Math.max(...known.map((each) => each[part]));
  return { [of]: { p50: most('p50'), p99: most('p99'), max: most('max') } };
}
