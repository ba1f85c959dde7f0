export { JobTracing } from './jobs.js';
export { openTracing } from './open.js';
export { PlacementTracing } from './placements.js';
export { traceparentOfRun, traceRun } from './runs.js';
export { type Spanned, spanIdOf, type Tracing, traceIdOf } from './spans.js';
