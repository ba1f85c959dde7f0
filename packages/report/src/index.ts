export type { AxisSpec } from './charts/axes.js';
export { cdf } from './charts/cdf.js';
export type { Size } from './charts/draw.js';
export { type ChartDrawing, type LegendEntry, type LineSpec, lineChart } from './charts/line-chart.js';
export { type LineLook, lineLook, type Role, sentinel } from './charts/palette.js';
export { ratioChart } from './charts/ratio-chart.js';
export { renderSvg } from './charts/svg.js';
export { buildComparison, mergeComparisons } from './compare.js';
export * from './comparison.js';
export { comparisonCsv, csvOf } from './csv.js';
export { type Distribution, percentileOfSorted, summarise } from './distribution.js';
export { ComparisonError, MeasurementError, UnfinishedRunError } from './errors.js';
export { renderDocument } from './html/document.js';
export { type Column, figure, legend, type Row, section, swatch, table } from './html/elements.js';
export { renderChart } from './html/inline-chart.js';
export { renderHtml } from './html/page.js';
export type { PageMeta } from './html/page-meta.js';
export type { JobTimes } from './intervals.js';
export { formatJobRecords, type JobRecord, jobRecord } from './job-record.js';
export {
  type CounterReading,
  type JobResult,
  type MessageTimes,
  type RunSetup,
  UTILISATION_SNAPSHOT_SECONDS,
} from './job-result.js';
export { type Content, html, Markup, trusted } from './markup.js';
export { duration } from './numbers.js';
export { type JudgedJob, PredictorTally } from './predictor-tally.js';
export { buildRun, finishRun, type RunMeasurements, type RunSeries } from './run.js';
export { renderScores, renderShadow } from './shadow-table.js';
export { type PolicySummary, summarisePolicies } from './summary.js';
export { renderTable } from './table.js';
export { RunTally } from './tally.js';
