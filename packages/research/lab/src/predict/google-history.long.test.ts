import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DEFAULT_HISTORY, History } from '@goshawk/predictor';
import { type PastJob, readPastJobs } from '@goshawk/traces';
import { describe, expect, test } from 'vitest';
import { pastArrivingOf } from './past.js';

const TRACE = join(resolve(import.meta.dirname, '../../../../..'), '../shared/traces/google-history.csv.gz');

/** Features that 3σPredict uses for Google's jobs. */
const FEATURES = ['user', 'name', 'logical', 'class', 'user+logical', 'user+hour', 'all'];
/** Estimators only learn from this share of jobs at the start. */
const WARM_UP = 0.3;

/** Share of estimates at submission that are within a factor of 2 of the whole run time. */
function shareWithinTwo(jobs: readonly PastJob[], valuesMax: number): number {
  const history = new History({ features: FEATURES, valuesMax });
  const bySubmission = [...jobs].sort((a, b) => a.submitSeconds - b.submitSeconds);
  let ended = 0;
  let good = 0;
  const from = Math.floor(WARM_UP * bySubmission.length);
  for (const [place, job] of bySubmission.entries()) {
    for (; ended < jobs.length && jobs[ended]!.endSeconds <= job.submitSeconds; ended++) {
      const past = jobs[ended]!;
      history.learn(pastArrivingOf(past, past.submitSeconds * 1_000), past.runSeconds * 1_000);
    }
    if (place < from) continue;
    const { estimateMs } = history.predict(pastArrivingOf(job, job.submitSeconds * 1_000));
    const ratio = estimateMs / (job.runSeconds * 1_000);
    if (ratio >= 0.5 && ratio <= 2) good++;
  }
  return good / (bySubmission.length - from);
}

describe.skipIf(!existsSync(TRACE))("a month of Google's jobs (skipped where the trace is missing)", () => {
  test('nine estimates in ten are within a factor of 2, even with limited memory', async () => {
    const jobs = await readPastJobs(TRACE);
    expect(jobs).toHaveLength(219_406);
    expect(shareWithinTwo(jobs, 1e6)).toBeCloseTo(0.899, 2);
    expect(shareWithinTwo(jobs, DEFAULT_HISTORY.valuesMax)).toBeCloseTo(0.893, 2);
  });
});
