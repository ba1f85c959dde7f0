import { z } from 'zod';
import type { EstimatorScore } from './score.js';

const count = z.int().nonnegative();
const percent = z.number().nullable();

const scored = {
  jobs: count,
  errorPercent: z.object({ p50: percent, p90: percent, mean: percent }),
  misclassifiedJobsPercent: percent,
  misclassifiedTaskSecondsPercent: percent,
};
const groups = z.array(z.object({ group: z.string(), ...scored }));

/** For published schemas. */
export const estimatorScoreShape = z.object({
  estimator: z.string(),
  ...scored,
  estimated: count,
  sampled: count,
  pilots: count,
  delaySeconds: z.object({ mean: z.number(), p50: z.number(), p90: z.number() }).nullable(),
  bySize: groups,
  byRecurrence: groups,
}) satisfies z.ZodType<EstimatorScore>;
