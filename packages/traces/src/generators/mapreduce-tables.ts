/** A k-means cluster of the jobs of a MapReduce installation: how many jobs, and its centroid. */
interface JobCluster {
  readonly jobs: number;
  readonly mapTaskSeconds: number;
  readonly jobMinutes: number;
}

export interface Installation {
  readonly name: string;
  readonly description: string;
  /** The first cluster is the short jobs, the others are the long ones (Hawk §4.1). */
  readonly clusters: readonly JobCluster[];
  /** Single-slot workers of the installation's size in the experiments. */
  readonly workers: number;
}

/** Y. Chen, S. Alspaugh, R. Katz: Interactive Analytical Processing in Big Data Systems, VLDB 2012. */
export const CLOUDERA: Installation = {
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

/** The same paper, its trace of Facebook in 2010. */
export const FACEBOOK: Installation = {
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
export const YAHOO: Installation = {
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
