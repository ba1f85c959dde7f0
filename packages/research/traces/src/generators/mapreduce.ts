import { Random, sumOf } from '@goshawk/core';
import {
  exponential,
  integer,
  microseconds,
  NormalDraws,
  normalCdf,
  pickAt,
  poissonArrivals,
} from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { defineGenerator, type WorkloadGenerator } from './generator.js';
import { choice, count, positive, seed } from './options.js';

/** A k-means cluster of the jobs of a MapReduce installation: the number of jobs, and the centroid. */
interface JobCluster {
  readonly jobs: number;
  readonly mapTaskSeconds: number;
  readonly jobMinutes: number;
}

interface Installation {
  readonly name: string;
  readonly description: string;
  /** The first cluster contains the short jobs, the others the long jobs (Hawk §4.1). */
  readonly clusters: readonly JobCluster[];
  /** Single-slot workers of the installation's size in the experiments. */
  readonly workers: number;
}

/** Y. Chen, S. Alspaugh, R. Katz: Interactive Analytical Processing in Big Data Systems, VLDB 2012. */
const CLOUDERA: Installation = {
  name: 'cloudera',
  description: "a Cloudera customer's MapReduce jobs (CC-c of Chen et al. 2012): 5% long jobs",
  workers: 15_000,
  clusters: [
    { jobs: 19_975, mapTaskSeconds: 10_933, jobMinutes: 4 },
    { jobs: 477, mapTaskSeconds: 1_927_432, jobMinutes: 47 },
    { jobs: 246, mapTaskSeconds: 569_391, jobMinutes: 254 },
    { jobs: 197, mapTaskSeconds: 1_895_403, jobMinutes: 53 },
    { jobs: 105, mapTaskSeconds: 14_865_972, jobMinutes: 131 },
    { jobs: 23, mapTaskSeconds: 9_779_062, jobMinutes: 1020 },
    { jobs: 7, mapTaskSeconds: 66_839_710, jobMinutes: 315 },
  ],
};

/** The trace of Facebook in 2010 from the paper of `CLOUDERA`. */
const FACEBOOK: Installation = {
  name: 'facebook',
  description: "Facebook's MapReduce jobs of 2010 (FB-2010 of Chen et al. 2012): 2% long jobs",
  workers: 170_000,
  clusters: [
    { jobs: 1_145_663, mapTaskSeconds: 48, jobMinutes: 1 },
    { jobs: 7_911, mapTaskSeconds: 60_664, jobMinutes: 480 },
    { jobs: 779, mapTaskSeconds: 3_081_710, jobMinutes: 45 },
    { jobs: 670, mapTaskSeconds: 9_457_592, jobMinutes: 80 },
    { jobs: 104, mapTaskSeconds: 198_436, jobMinutes: 4320 },
    { jobs: 11_491, mapTaskSeconds: 1_112_765, jobMinutes: 30 },
    { jobs: 1_876, mapTaskSeconds: 1_618_792, jobMinutes: 120 },
    { jobs: 454, mapTaskSeconds: 1_795_682, jobMinutes: 60 },
    { jobs: 169, mapTaskSeconds: 2_862_726, jobMinutes: 127 },
  ],
};

/** Y. Chen, A. Ganapathi, R. Griffith, R. Katz: The Case for Evaluating MapReduce Performance Using Workload Suites, MASCOTS 2011. */
const YAHOO: Installation = {
  name: 'yahoo',
  description: "Yahoo's MapReduce jobs (Chen et al. 2011): 9% long jobs",
  workers: 4_000,
  clusters: [
    { jobs: 21_981, mapTaskSeconds: 412, jobMinutes: 1 },
    { jobs: 838, mapTaskSeconds: 270_376, jobMinutes: 35 },
    { jobs: 91, mapTaskSeconds: 983_998, jobMinutes: 40 },
    { jobs: 7, mapTaskSeconds: 257_567, jobMinutes: 155 },
    { jobs: 35, mapTaskSeconds: 4_481_926, jobMinutes: 225 },
    { jobs: 5, mapTaskSeconds: 33_606_055, jobMinutes: 515 },
    { jobs: 1_303, mapTaskSeconds: 15_021, jobMinutes: 60 },
    { jobs: 2, mapTaskSeconds: 7_729_409, jobMinutes: 280 },
  ],
};

/**
 * Mean map task duration over job duration. The published clusters contain a job's task seconds and duration, but not
 * its number of tasks; this ratio reproduces the tasks and durations of the Yahoo trace of the Hawk and Eagle
 * simulations (docs/SIMULATE.md).
 */
const MAP_SHARE_OF_JOB_DURATION = 1 / 3;

/**
 * Deviation of the durations within a job, as functions of their mean in seconds. `twice-mean` is from Hawk's text
 * (§4.1); `root` (a variance of twice the mean) is that of its Yahoo trace.
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
        "standard deviation of the durations (negative draws are repeated): twice the job's mean, or the square root of that",
      ),
      load: positive(0.9, 'task seconds submitted per second, divided by the number of workers'),
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
        const scale = pickAt(scales, (each) => each.jobs, integer(picks, publishedJobs));
        const tasks = Math.max(1, Math.ceil(exponential(centroids, scale.tasks)));
        const mean = exponential(centroids, scale.seconds);
        yield jobOf(nextSubmission(), gaussianDurations(tasks, mean, deviationOf(mean), normal));
      }
    },
  });
}

/** Draws Gaussian durations in seconds; negative values are redrawn. */
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
 * Returns the expected task seconds of a cluster's job: E[tasks] × E[duration]. Rounding an exponential up
 * gives a geometric number. The mean of a truncated Gaussian grows with the deviation, so it is averaged over
 * quantiles of the exponential means.
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

/** Returns the mean of a Gaussian truncated at 0. */
function truncatedMean(mean: number, deviation: number): number {
  const ratio = mean / deviation;
  const density = Math.exp(-(ratio * ratio) / 2) / Math.sqrt(2 * Math.PI);
  return mean + (deviation * density) / normalCdf(ratio);
}
