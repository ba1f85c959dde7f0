import { microseconds } from '../draws.js';
import type { TraceJob } from '../job.js';
import { prepareJobs } from '../prototype.js';
import { defineGenerator } from './generator.js';
import { googleLikeJobs } from './google-like.js';
import { count, positive, seed } from './options.js';

/** The prototype has 300 long jobs of 3,300, slightly less than the tenth of the whole trace. */
const LONG_SHARE = 1 / 11;

/** Hawk's prototype experiment (§4.10): Google-like jobs, fitted to a cluster of 100 single-slot nodes. */
export const prototype = defineGenerator({
  name: 'prototype',
  description:
    'Hawk §4.10: 3,000 short and 300 long Google-like jobs, tasks scaled to the cluster, durations divided by `scale`, arrivals for `load`',
  options: {
    jobs: count(3300, 'number of jobs, of which one in eleven is long'),
    workers: count(100, 'single-slot workers'),
    scale: positive(1000, 'divides the durations'),
    load: positive(0.9, 'task seconds submitted per second, divided by the number of workers'),
    seed: seed(),
  },
  generate: function* ({ jobs, workers, scale, load, seed }): Generator<TraceJob> {
    const longJobs = Math.round(LONG_SHARE * jobs);
    // The arrivals are redrawn for the cluster, so the rate here does not matter.
    const original = [...googleLikeJobs({ jobs, longJobs, meanInterarrivalSeconds: 1, seed })];
    const prepared = prepareJobs(original, { workers, scale, load, seed });
    for (const job of prepared.jobs) {
      yield {
        submitSeconds: microseconds(job.submitSeconds),
        durationsSeconds: job.durationsSeconds.map(microseconds),
        meanSeconds: job.meanSeconds,
      };
    }
  },
});
