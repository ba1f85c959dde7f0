export { ColumnBlocks } from './columns.js';
export { convertTrace } from './convert.js';
export { NormalDraws, normalCdf } from './draws.js';
export { WorkloadError } from './errors.js';
export { type PastJob, readPastJobs } from './features/past-jobs.js';
export { readTaskRuns, type TaskRun } from './formats/google2011/task-runs.js';
export { detectFormat, FORMATS, formatToWrite } from './formats/index.js';
export { type JournalEntry, type RecordedJob, RecordedRuns } from './formats/journal.js';
export type { TraceFormat } from './formats/trace-format.js';
export { writeTrace } from './formats/write.js';
export { DAG_MACHINE } from './generators/dag-like.js';
export type { ConfiguredGenerator, WorkloadGenerator } from './generators/generator.js';
export { configureGenerator, findGenerator, GENERATORS } from './generators/index.js';
export type { OptionSpec, OptionSpecs } from './generators/options.js';
export {
  collect,
  type Jobs,
  type MachineShare,
  mapJobs,
  type TraceJob,
  type TraceStage,
  withStageEstimates,
} from './job.js';
export { jobInputOf, jobSpecOf } from './job-spec.js';
export {
  flattened,
  type JobBatches,
  joined,
  type PackedJobs,
  packed,
  packedBytes,
  unpackedJobs,
} from './packed-jobs.js';
export { type Distribution, distributionOf } from './percentiles.js';
export { drawArrivals } from './prototype/arrivals.js';
export { fifoMakespan } from './prototype/makespan.js';
export { type PreparedPrototype, prepareJobs, preparePrototype } from './prototype/prepare.js';
export { scaleToCluster } from './prototype/scale.js';
export { sampleJobs } from './sample/jobs.js';
export { type SampleOptions, sampleTrace } from './sample/sample.js';
export { formatStats } from './stats/format.js';
export { plotStats } from './stats/plot.js';
export { type Cdf, type TraceStats, traceStats } from './stats/stats.js';
export { formatTally, type Tallied, Tally } from './tally.js';
export { openWorkload, type Workload } from './workload.js';
