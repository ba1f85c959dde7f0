import { Random, sumOf } from '@goshawk/core';
import { exponential, integer, microseconds, NormalDraws, normalCdf, poissonArrivals } from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { defineGenerator, type WorkloadGenerator } from './generator.js';
import { CLOUDERA, FACEBOOK, type Installation, YAHOO } from './mapreduce-tables.js';
import { choice, count, positive, seed } from './options.js';

/**
 * Mean map task duration over job duration. The published clusters give the task seconds of a job and
 * its duration, not the number of its tasks; this ratio splits them. It is the one that reproduces the
 * tasks and durations of the Yahoo trace of the Hawk and Eagle simulations (docs/USE.md).
 */
const MAP_SHARE_OF_JOB_DURATION = 1 / 3;

/**
 * Deviation of the durations within a job, as functions of their mean in seconds. `twice-mean` is what
 * Hawk's text says (§4.1); `root` (a variance of twice the mean) is what its Yahoo trace has.
 */
const DEVIATION = {
  'twice-mean': (mean: number) => 2 * mean,
  root: (mean: number) => Math.sqrt(2 * mean),
} as const;

export const cloudera = mapReduce(CLOUDERA);
export const facebook = mapReduce(FACEBOOK);
export const yahoo = mapReduce(YAHOO);

/** Hawk §4.1: a cluster's centroid is the scale of exponential draws; durations are Gaussian. */
function mapReduce(installation: Installation): WorkloadGenerator {
  const { name, description, clusters } = installation;
  const scales = clusters.map(({ jobs, mapTaskSeconds, jobMinutes }) => {
    const seconds = jobMinutes * 60 * MAP_SHARE_OF_JOB_DURATION;
    return { jobs, seconds, tasks: mapTaskSeconds / seconds };
  });
  const publishedJobs = sumOf(clusters, (cluster) => cluster.jobs);
  return defineGenerator({
    name,
    description,
    options: {
      jobs: count(publishedJobs, 'number of jobs'),
      deviation: choice(
        ['twice-mean', 'root'],
        "standard deviation of the durations before negative ones are drawn again: twice the job's mean, or the root of that",
      ),
      load: positive(0.9, 'task seconds submitted a second, over the workers'),
      workers: count(installation.workers, 'single-slot workers that `load` refers to'),
      seed: seed(),
    },
    generate: function* ({ jobs, deviation, load, workers, seed }): Generator<TraceJob> {
      const random = Random.seeded(seed).fork(name);
      const deviationOf = DEVIATION[deviation];
      const taskSecondsPerJob =
        sumOf(scales, (scale) => scale.jobs * expectedTaskSeconds(scale, deviationOf)) / publishedJobs;
      const nextSubmission = poissonArrivals(random.fork('arrivals'), taskSecondsPerJob / (load * workers));
      const picks = random.fork('clusters');
      const centroids = random.fork('centroids');
      const normal = new NormalDraws(random.fork('durations'));
      for (let i = 0; i < jobs; i++) {
        const scale = pickCluster(scales, integer(picks, publishedJobs));
        const tasks = Math.max(1, Math.ceil(exponential(centroids, scale.tasks)));
        const mean = exponential(centroids, scale.seconds);
        yield jobOf(nextSubmission(), gaussianDurations(tasks, mean, deviationOf(mean), normal));
      }
    },
  });
}

function pickCluster<T extends { readonly jobs: number }>(clusters: readonly T[], job: number): T {
  let below = job;
  for (const cluster of clusters) {
    if (below < cluster.jobs) return cluster;
    below -= cluster.jobs;
  }
  throw new Error(`job ${job} lies beyond the last cluster`);
}

/** Gaussian durations in seconds, negative ones drawn again. */
function gaussianDurations(
  tasks: number,
  mean: number,
  deviation: number,
  normal: NormalDraws,
): Float64Array {
  const durations = new Float64Array(tasks);
  for (let i = 0; i < tasks; i++) {
    let duration = -1;
    while (duration < 0) duration = mean + deviation * normal.next();
    durations[i] = microseconds(duration);
  }
  return durations;
}

/**
 * Expected task seconds of a cluster's job: E[tasks] × E[duration]. Rounding an exponential up gives a
 * geometric number. The mean of a Gaussian without its negative part grows with the deviation, so it
 * is averaged over the exponential means (by its quantiles).
 */
function expectedTaskSeconds(
  scale: { readonly seconds: number; readonly tasks: number },
  deviationOf: (mean: number) => number,
): number {
  const expectedTasks = 1 / -Math.expm1(-1 / scale.tasks);
  const quantiles = 1000;
  let expectedSeconds = 0;
  for (let i = 0; i < quantiles; i++) {
    const mean = -scale.seconds * Math.log(1 - (i + 0.5) / quantiles);
    expectedSeconds += truncatedMean(mean, deviationOf(mean)) / quantiles;
  }
  return expectedTasks * expectedSeconds;
}

/** Mean of a Gaussian that is drawn again where negative. */
function truncatedMean(mean: number, deviation: number): number {
  const ratio = mean / deviation;
  const density = Math.exp(-(ratio * ratio) / 2) / Math.sqrt(2 * Math.PI);
  return mean + (deviation * density) / normalCdf(ratio);
}
