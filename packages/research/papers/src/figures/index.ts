export { assess, type FigureSweep, type RunsAt } from './assess.js';
export type { Axis, Tick } from './axis.js';
export { labelledAxis, SINGLE_POINT, settingAxis, timeAxis, workersAxis } from './axis.js';
export { plannedOf } from './deadlines.js';
export {
  bars,
  type Claim,
  type Figure,
  lines,
  type Panel,
  type Series,
  table,
  type Variant,
} from './figure.js';
export { FIGURES, figuresNamed, GROUPS } from './figures.js';
export type { JobDetails } from './jobwise.js';
export { isMuchBetter, isWorse, only, staysWithin } from './judging/index.js';
export type { FinishedRun, JobTimes } from './measure.js';
export type { Planned, Queue, StagedRun } from './point.js';
export { renderFigureCsv, renderRunsCsv } from './render/csv.js';
export { renderFigurePage } from './render/page.js';
export { type FigureWidth, renderFigureSvg } from './render/svg.js';
export { renderFigureTex } from './render/tex.js';
export { renderFigureText } from './render/text.js';
export { addVerdicts, verdictLine } from './render/verdicts.js';
export { type FigureResult, spreadOf, type Trial } from './result.js';
export { busy, DEFAULT_POLICY, missed, over, seconds } from './series.js';
export type { RunSettings } from './settings.js';
export { assessTrials } from './trials.js';
