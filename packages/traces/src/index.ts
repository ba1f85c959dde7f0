export { WorkloadError } from './errors.js';
export { detectFormat, FORMATS, type TraceFormat } from './formats/index.js';
export { writeTrace } from './formats/write.js';
export type { ConfiguredGenerator, WorkloadGenerator } from './generators/generator.js';
export { configureGenerator, GENERATORS } from './generators/index.js';
export type { OptionSpec, OptionSpecs } from './generators/options.js';
export { collect, type Jobs, type TraceJob } from './job.js';
export { type Distribution, distributionOf, nearestRank } from './percentiles.js';
export { drawArrivals } from './prototype/arrivals.js';
export { fifoMakespan } from './prototype/makespan.js';
export {
  type PreparedPrototype,
  type PrototypeOptions,
  prepareJobs,
  preparePrototype,
  type ReplayJob,
} from './prototype/prepare.js';
export { sampleJobs } from './prototype/sample.js';
export { scaleToCluster } from './prototype/scale.js';
export { Random } from './random.js';
export { formatStats } from './stats/format.js';
export { meanDurationPercentile, type TraceStats, traceStats } from './stats/stats.js';
export { type OpenOptions, openWorkload, type Workload } from './workload.js';
