import type { Random } from '@goshawk/core';
import { integer } from '../draws.js';
import type { Jobs, TraceJob } from '../job.js';

/**
 * `wanted` jobs drawn at random without replacement (all of them when there are no more), in order of
 * submission; equal times keep the order of the workload. One pass, memory for the sample only.
 */
export async function sampleJobs(
  jobs: Jobs,
  wanted: number,
  random: Random,
): Promise<{ sample: TraceJob[]; total: number }> {
  const reservoir: { job: TraceJob; position: number }[] = [];
  let total = 0;
  for await (const job of jobs) {
    const position = total++;
    if (reservoir.length < wanted) {
      reservoir.push({ job, position });
      continue;
    }
    // Vitter's algorithm R: the k-th job stays with probability wanted/k.
    const place = integer(random, total);
    if (place < wanted) reservoir[place] = { job, position };
  }
  reservoir.sort((a, b) => a.job.submitSeconds - b.job.submitSeconds || a.position - b.position);
  return { sample: reservoir.map(({ job }) => job), total };
}
