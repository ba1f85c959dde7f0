import { Random, sumOf } from '@goshawk/core';
import { exponential, integer, microseconds, NormalDraws, shuffle } from '../draws.js';
import { jobOf, type TraceJob, type TraceStage } from '../job.js';
import { defineGenerator } from './generator.js';
import { count, positive, seed } from './options.js';

/** A worker's CPUs. */
const CPUS = 4;
const RESOURCES = 'memory=8GiB,gpu=1';

const GIB = 1024 ** 3;

/** Parts of the workload, as fractions of the jobs. */
const PARTS = { interactive: 0.6, batch: 0.2, gang: 0.1, gpu: 0.1 } as const;
type Part = keyof typeof PARTS;

/** Users, with their fraction of the jobs of every part. */
const USERS = { ana: 1 / 2, ben: 1 / 3, cleo: 1 / 6 } as const;

/** Deadlines of gangs, in multiples of the run time. */
const DEADLINES = [2, 4, 8];

/** A mixture of everything that a cluster may have to serve; the distributions are ours. */
export const mixed = defineGenerator({
  name: 'mixed',
  description:
    'interactive jobs, staged batch, gangs with deadlines and GPU tasks of three users, for workers of 4 CPUs, 8 GiB and one GPU',
  options: {
    jobs: count(400, 'number of jobs: 60% interactive, 20% batch, 10% gangs, 10% GPU'),
    load: positive(0.9, 'CPU seconds submitted per second, divided by the CPUs of the workers'),
    workers: count(20, 'workers that `load` refers to; gangs have a quarter as many tasks at most'),
    scale: positive(1, 'divides the run times, deadlines and times between submissions'),
    seed: seed(),
  },
  cluster: ({ workers }) => ({ workers, cpus: CPUS, resources: RESOURCES }),
  generate: function* ({ jobs, load, workers, scale, seed }): Generator<TraceJob> {
    const random = Random.seeded(seed).fork('mixed');
    const draws = new Draws(random.fork('jobs'), workers, scale);
    const parts = shuffle(random.fork('order'), partsOf(PARTS, jobs));
    const users = shuffle(random.fork('users'), partsOf(USERS, jobs));
    const drawn = parts.map((part) => draws[part]());
    const work = sumOf(drawn, cpuSeconds);
    const arrivals = random.fork('arrivals');
    const gaps = drawn.map(() => exponential(arrivals, 1));
    const stretch = work / (load * workers * CPUS) / sumOf(gaps);
    let at = 0;
    for (const [index, job] of drawn.entries()) {
      const name = parts[index]!;
      yield { ...job, submitSeconds: microseconds(at), name, logicalName: name, user: users[index]! };
      at += gaps[index]! * stretch;
    }
  },
});

/** Repeats each name in proportion to its fraction, as exactly as integers allow. */
function partsOf<Name extends string>(fractions: Readonly<Record<Name, number>>, total: number): Name[] {
  const names: Name[] = [];
  let upTo = 0;
  for (const [name, fraction] of Object.entries<number>(fractions)) {
    upTo += fraction * total;
    while (names.length < Math.round(upTo)) names.push(name as Name);
  }
  return names;
}

/** Draws jobs of each part, submitted at 0. */
class Draws implements Record<Part, () => TraceJob> {
  readonly #random: Random;
  readonly #normal: NormalDraws;
  readonly #gangMax: number;
  readonly #scale: number;

  constructor(random: Random, workers: number, scale: number) {
    this.#random = random;
    this.#normal = new NormalDraws(random.fork('sizes'));
    this.#gangMax = Math.max(2, Math.floor(workers / 4));
    this.#scale = scale;
  }

  /** Draws one to four tasks of about two seconds. */
  interactive(): TraceJob {
    const tasks = 1 + integer(this.#random, 4);
    return { ...this.#alike(tasks, this.#seconds(2, 0.5)), demand: { cpu: 1, memory: GIB / 2 } };
  }

  /** Draws three consecutive stages: read in parallel, join, write. */
  batch(): TraceJob {
    const size = Math.exp(0.6 * this.#normal.next());
    const shapes = [
      { name: 'read', tasks: 12, seconds: 15, demand: { cpu: 1, memory: GIB } },
      { name: 'join', tasks: 5, seconds: 25, demand: { cpu: 2, memory: 3 * GIB } },
      { name: 'write', tasks: 2, seconds: 10, demand: { cpu: 1, memory: 2 * GIB } },
    ];
    const durations: number[] = [];
    const stages = shapes.map(({ name, tasks: typical, seconds: median, demand }, place): TraceStage => {
      const tasks = Math.max(1, Math.round(typical * size));
      const seconds = this.#seconds(median, 0.5);
      for (let task = 0; task < tasks; task++) durations.push(seconds);
      return { name, after: place === 0 ? [] : [place - 1], tasks, demand, estimateSeconds: seconds };
    });
    return { ...jobOf(0, Float64Array.from(durations)), stages };
  }

  /** Draws ranks that start together and have a deadline. */
  gang(): TraceJob {
    const tasks = 2 + integer(this.#random, this.#gangMax - 1);
    const seconds = this.#seconds(40, 0.4);
    const deadline = DEADLINES[integer(this.#random, DEADLINES.length)]!;
    return {
      ...this.#alike(tasks, seconds),
      demand: { cpu: 2, memory: 2 * GIB },
      gang: true,
      deadlineSeconds: microseconds(deadline * seconds),
    };
  }

  gpu(): TraceJob {
    const tasks = 1 + integer(this.#random, 3);
    return { ...this.#alike(tasks, this.#seconds(60, 0.5)), demand: { cpu: 1, memory: 2 * GIB, gpu: 1 } };
  }

  #alike(tasks: number, seconds: number): TraceJob {
    return { ...jobOf(0, new Float64Array(tasks).fill(seconds)), estimateSeconds: seconds };
  }

  /** Draws from a log-normal distribution, at least a millisecond. */
  #seconds(median: number, sigma: number): number {
    const seconds = (median / this.#scale) * Math.exp(sigma * this.#normal.next());
    return Math.max(1, Math.round(seconds * 1_000)) / 1_000;
  }
}

function cpuSeconds({ durationsSeconds, demand: ofJob, stages }: TraceJob): number {
  if (stages === undefined) return sumOf(durationsSeconds) * ofJob!.cpu!;
  let first = 0;
  return sumOf(stages, ({ tasks, demand }) => {
    const seconds = sumOf(durationsSeconds.subarray(first, first + tasks));
    first += tasks;
    return seconds * demand!.cpu!;
  });
}
