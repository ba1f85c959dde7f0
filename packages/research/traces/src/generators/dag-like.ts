import { Random } from '@goshawk/core';
import { integer, NormalDraws, poissonArrivals, shuffle } from '../draws.js';
import { jobOf, type TraceJob, type TraceStage } from '../job.js';
import { defineGenerator } from './generator.js';
import { choice, count, positive, seed } from './options.js';

/** Stages per job, median and 95th percentile (Carbyne, OSDI '16, Table 1). */
const SHAPES = {
  'tpc-ds': { p50: 8, p95: 23 },
  'tpc-h': { p50: 8, p95: 12 },
  bigbench: { p50: 7, p95: 19 },
  microsoft: { p50: 13, p95: 121 },
} as const;

type Shape = keyof typeof SHAPES;

/** Capacity of a machine (Carbyne §5.1: 20 cores, 128 GB); disk and network in percent. */
export const DAG_MACHINE = {
  cpu: 20,
  memory: 128 * 1024 ** 3,
  'disk-in': 100,
  'disk-out': 100,
  'net-in': 100,
  'net-out': 100,
} as const;

type Resource = keyof typeof DAG_MACHINE;

type Range = readonly [from: number, to: number];

const IO: readonly [Range, Range] = [
  [0, 0.04],
  [0.1, 0.3],
];
/** Uniform, as a fraction of a machine; one resource of each stage is raised to the second range. */
const DEMANDS: Readonly<Record<Resource, readonly [low: Range, raised: Range]>> = {
  cpu: [
    [0.02, 0.1],
    [0.1, 0.25],
  ],
  memory: [
    [0.02, 0.08],
    [0.1, 0.25],
  ],
  'disk-in': IO,
  'disk-out': IO,
  'net-in': IO,
  'net-out': IO,
};

/** z of the 95th percentile. */
const Z95 = 1.645;
/** Amounts are rounded to thousandths, in which clusters count. */
const AMOUNT_DIGITS = 1_000;
const STAGES_MAX = 200;

const TASKS_MEDIAN = 12;
const TASKS_SIGMA = 0.8;
/** First stages read the input and are wider than the rest. */
const SOURCE_FACTOR = 1.5;
const LATER_FACTOR = 0.7;
const SECONDS_MEDIAN = 40;
const SECONDS_SIGMA = 0.7;

const ARRIVALS = {
  jobs: count(100, 'number of jobs'),
  arrivals: choice(['poisson', 'together'], 'when jobs are submitted: one at a time, or all at the start'),
  interarrival: positive(20, 'mean seconds between submissions'),
  seed: seed(),
};

/** Jobs of many stages with demands; the distributions are ours, fitted to the few numbers in Carbyne's tables. */
export const dagLike = defineGenerator({
  name: 'dag-like',
  description:
    'jobs of many stages with resource demands, shaped like TPC-DS, TPC-H, BigBench or Microsoft’s jobs',
  options: {
    ...ARRIVALS,
    shape: choice(['tpc-ds', 'tpc-h', 'bigbench', 'microsoft'], 'number of stages of jobs'),
  },
  generate: function* ({ jobs, shape, arrivals, interarrival, seed }): Generator<TraceJob> {
    const draws = new StageDraws(Random.seeded(seed).fork('dag-like'), 0.8);
    const submit = submissions(draws.random, arrivals, interarrival);
    for (let i = 0; i < jobs; i++) yield draws.job(submit(), draws.graph(draws.stageCount(shape)));
  },
});

/** Probability that a job has only maps. */
const MAP_ONLY = 0.4;

export const facebookLike = defineGenerator({
  name: 'facebook-like',
  description: 'MapReduce jobs with demands: maps, and reduces for 60% of them',
  options: ARRIVALS,
  generate: function* ({ jobs, arrivals, interarrival, seed }): Generator<TraceJob> {
    // 650,000 tasks of 7,000 jobs (Carbyne §5.1) are 93 per job, which this spread of sizes gives.
    const draws = new StageDraws(Random.seeded(seed).fork('facebook-like'), 1.5);
    const submit = submissions(draws.random, arrivals, interarrival);
    for (let i = 0; i < jobs; i++) {
      yield draws.job(submit(), draws.random.next() < MAP_ONLY ? [[]] : [[], [0]]);
    }
  },
});

function submissions(random: Random, arrivals: 'poisson' | 'together', interval: number): () => number {
  return arrivals === 'together' ? () => 0 : poissonArrivals(random.fork('arrivals'), interval);
}

class StageDraws {
  readonly random: Random;
  readonly #normal: NormalDraws;
  readonly #jobSigma: number;

  /** @param jobSigma of the factor shared by all stages of a job */
  constructor(random: Random, jobSigma: number) {
    this.random = random;
    this.#normal = new NormalDraws(random.fork('sizes'));
    this.#jobSigma = jobSigma;
  }

  stageCount(shape: Shape): number {
    const { p50, p95 } = SHAPES[shape];
    const drawn = Math.round(this.#logNormal(p50, Math.log(p95 / p50) / Z95));
    return Math.min(STAGES_MAX, Math.max(2, drawn));
  }

  /** Predecessors of each stage: a third to a half of the stages have none, and one has no successor. */
  graph(stages: number): number[][] {
    const sources = Math.max(1, Math.round(stages * this.#uniform(1 / 3, 1 / 2)));
    const after: number[][] = Array.from({ length: sources }, () => []);
    let open = after.map((_, stage) => stage);
    for (let stage = sources; stage < stages; stage++) {
      // The remaining stages must join all open stages; the last stage joins all the rest.
      const isLast = stage === stages - 1;
      const joined = isLast ? open.length : Math.min(open.length, 1 + integer(this.random, 3));
      const parents = shuffle(this.random, [...open]).slice(0, joined);
      after.push(parents.sort((a, b) => a - b));
      open = [...open.filter((each) => !parents.includes(each)), stage];
    }
    return after;
  }

  job(submitSeconds: number, after: readonly (readonly number[])[]): TraceJob {
    const size = this.#logNormal(1, this.#jobSigma);
    const durations: number[] = [];
    const stages = after.map((parents, place): TraceStage => {
      const factor = parents.length === 0 ? SOURCE_FACTOR : LATER_FACTOR;
      const tasks = Math.max(1, Math.round(this.#logNormal(TASKS_MEDIAN, TASKS_SIGMA) * size * factor));
      const seconds = Math.max(1, Math.round(this.#logNormal(SECONDS_MEDIAN, SECONDS_SIGMA) * 1_000)) / 1_000;
      for (let task = 0; task < tasks; task++) durations.push(seconds);
      return {
        name: `s${place}`,
        after: parents,
        tasks,
        demand: this.#demand(parents.length === 0),
        estimateSeconds: seconds,
      };
    });
    return { ...jobOf(submitSeconds, Float64Array.from(durations)), stages };
  }

  #demand(isSource: boolean): Record<string, number> {
    const quarter = integer(this.random, 4);
    const raised = quarter === 0 ? 'cpu' : quarter === 1 ? 'memory' : isSource ? 'disk-in' : 'net-in';
    return Object.fromEntries(
      Object.entries(DEMANDS).map(([name, [low, high]]) => {
        const [from, to] = name === raised ? high : low;
        const amount = this.#uniform(from, to) * DAG_MACHINE[name as Resource];
        return [
          name,
          name === 'memory' ? Math.round(amount) : Math.round(amount * AMOUNT_DIGITS) / AMOUNT_DIGITS,
        ];
      }),
    );
  }

  #uniform(from: number, to: number): number {
    return from + (to - from) * this.random.next();
  }

  #logNormal(median: number, sigma: number): number {
    return median * Math.exp(sigma * this.#normal.next());
  }
}
