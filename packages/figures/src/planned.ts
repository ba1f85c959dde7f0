import { meanPlanned } from './deadlines.js';
import type { Planned } from './point.js';
import type { FigureResult } from './result.js';
import { assessTrials, type TrialRuns } from './trials.js';

/** What was run for a planned figure. */
type PlannedRuns = TrialRuns<Planned>;

/** From planned runs to a figure's numbers and verdicts: means over the seeds. */
export function assessPlanned(runs: PlannedRuns): FigureResult {
  return assessTrials(runs, 'planned', meanPlanned);
}
