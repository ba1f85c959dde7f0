export { arrivingJobOf } from './arriving.js';
export { convertTrace } from './convert.js';
export { cpuSecondsOf, cpusOfStages } from './cpu-time.js';
export { NormalDraws, normalCdf } from './draws.js';
export { WorkloadError } from './errors.js';
export { type PastJob, readPastJobs } from './features.js';
export { readTaskRuns } from './formats/google2011/task-runs.js';
export { FORMATS, formatToWrite } from './formats/index.js';
export { type JournalEntry, type RecordedJob, RecordedRuns, readJournalExport } from './formats/journal.js';
export { writeTrace } from './formats/write.js';
export { DAG_MACHINE } from './generators/dag-like.js';
export { configureGenerator, findGenerator, GENERATORS } from './generators/index.js';
export {
  type Jobs,
  mapJobs,
  type TraceJob,
  type TraceStage,
  withoutGangs,
  withStageEstimates,
} from './job.js';
export { columnBlocks, jobInputOf, jobSpecOf } from './job-spec.js';
export {
  type JobBatches,
  joined,
  type PackedJobs,
  packed,
  packedBytes,
  unpackedJobs,
} from './packed-jobs.js';
export { type PreparedPrototype, preparePrototype } from './prototype.js';
export { PUBLISHED } from './published.js';
export type { SampleOptions } from './sample.js';
export { formatStats } from './stats/format.js';
export { plotStats } from './stats/plot.js';
export { traceStats } from './stats/stats.js';
export { formatTally, type Tallied, Tally } from './tally.js';
export { openWorkload, type Workload } from './workload.js';
