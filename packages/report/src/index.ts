export { buildComparison } from './compare.js';
export * from './comparison.js';
export { type Distribution, percentileOfSorted, summarise } from './distribution.js';
export { ComparisonError, MeasurementError, UnfinishedRunError } from './errors.js';
export { renderHtml } from './html/page.js';
export type { PageMeta } from './html/page-meta.js';
export {
  buildRun,
  type JobResult,
  type RunMeasurements,
  type RunSeries,
  UTILISATION_SNAPSHOT_SECONDS,
} from './run.js';
export { type PolicySummary, summarisePolicies } from './summary.js';
export { renderTable, type TableStyle } from './table.js';
