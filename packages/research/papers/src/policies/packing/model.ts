import { DenseIds, IndexedHeap, Needs, Random, slopeOf, sumOf } from '@goshawk/core';
import type { Group } from './group.js';
import type { Packer } from './packer.js';
import { makePacker, type PackerOptions, type PackingName } from './packers.js';
import { sizeOf } from './partition.js';

/** A task of one resource. */
export interface PackingJob {
  /** Arrival time, in slots or in any unit. */
  readonly at: number;
  /** Size in units of a server. */
  readonly size: number;
  /** Duration from its start; at least 1 in slots. */
  readonly duration: number;
}

/** A waiting or running task. */
interface Task extends Group {
  readonly duration: number;
  server: number;
}

/** Empty needs, because the model uses only the size of a task. */
const NO_NEEDS = new Needs(0, [], undefined);

interface PackingModel extends PackerOptions {
  readonly policy: PackingName;
  readonly servers: number;
  /** In order of arrival. */
  readonly jobs: Iterator<PackingJob>;
  readonly until: number;
  /** The mean queue is measured from this time on. */
  readonly from?: number;
  /** Number of windows at whose ends the queue is sampled. */
  readonly windows?: number;
}

export interface PackingResult {
  /** Time average of the number of waiting tasks. */
  readonly meanQueue: number;
  /** Number of waiting tasks at the end of each window. */
  readonly queues: readonly number[];
  /** Greatest number of waiting tasks during each window. */
  readonly peaks: readonly number[];
  /** Least-squares growth of the queue over the windows since `from`, in tasks per unit of time. */
  readonly growth: number;
  readonly arrived: number;
  /** Arrivals and departures. */
  readonly events: number;
}

/** Runs the model of the paper (§II) from event to event: one batch at each time with arrivals or departures. */
export function runPacking(model: PackingModel): PackingResult {
  return new ModelRun(model).run();
}

class ModelRun {
  readonly #model: PackingModel;
  readonly #packer: Packer;
  readonly #from: number;
  readonly #windows: number;
  readonly #ends = new IndexedHeap();
  readonly #numbers = new DenseIds();
  /** Running tasks by number. */
  readonly #running: Task[] = [];
  readonly #queues: number[] = [];
  readonly #peaks: number[] = [];
  #peak = 0;
  #now = 0;
  #area = 0;
  #arrived = 0;
  #departed = 0;

  constructor(model: PackingModel) {
    this.#model = model;
    this.#from = model.from ?? 0;
    this.#windows = model.windows ?? 100;
    this.#packer = makePacker(model.policy, model);
    for (let server = 0; server < model.servers; server++) this.#packer.open(server);
    this.#packer.run(() => {});
  }

  run(): PackingResult {
    const { jobs, until } = this.#model;
    const place = (group: Group, server: number) => this.#start(group as Task, server);
    let job = jobs.next().value as PackingJob | undefined;
    for (;;) {
      const at = Math.min(this.#ends.topKey(), job?.at ?? Number.POSITIVE_INFINITY);
      if (at > until || at === Number.POSITIVE_INFINITY) break;
      this.#pass(at);
      while (this.#ends.topKey() <= at) this.#depart();
      for (; job !== undefined && job.at <= at; job = jobs.next().value as PackingJob | undefined) {
        this.#packer.arrive(this.#taskOf(job));
      }
      this.#packer.run(place);
    }
    this.#pass(until);
    return {
      meanQueue: this.#area / (until - this.#from),
      queues: this.#queues,
      peaks: this.#peaks,
      growth: this.#growth(),
      arrived: this.#arrived,
      events: this.#arrived + this.#departed,
    };
  }

  /** Advances to this time, without changes in between. */
  #pass(until: number): void {
    const { tasks } = this.#packer;
    // Compares products, so that the last window ends exactly at the end in spite of rounding.
    this.#peak = Math.max(this.#peak, tasks);
    while ((this.#queues.length + 1) * this.#model.until <= until * this.#windows) {
      this.#queues.push(tasks);
      this.#peaks.push(this.#peak);
      this.#peak = tasks;
    }
    const since = Math.max(this.#now, this.#from);
    if (until > since) this.#area += tasks * (until - since);
    this.#now = until;
  }

  #taskOf({ size, duration }: PackingJob): Task {
    const sequence = this.#arrived++;
    return { sequence, size, family: 0, needs: NO_NEEDS, count: 1, duration, server: -1 };
  }

  #start(task: Task, server: number): void {
    const number = this.#numbers.take();
    task.server = server;
    this.#running[number] = task;
    this.#ends.set(number, this.#now + task.duration);
  }

  #depart(): void {
    const number = this.#ends.top();
    const { server, size } = this.#running[number]!;
    this.#ends.delete(number);
    this.#packer.depart(server, size);
    this.#numbers.release(number);
    this.#departed++;
  }

  #growth(): number {
    const width = this.#model.until / this.#windows;
    const first = Math.ceil(this.#from / width);
    return slopeOf(this.#queues.slice(first).map((queue, at) => [(first + at + 1) * width, queue] as const));
  }
}

/** Distribution of task sizes, as fractions of a server. */
export type SizeDraw =
  | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
  | { readonly kind: 'values'; readonly values: readonly number[]; readonly weights: readonly number[] };

const ARRIVALS = ['poisson', 'bernoulli', 'continuous'] as const;
const SERVICES = ['geometric', 'fixed', 'exponential'] as const;

export interface DrawnJobs {
  readonly sizes: SizeDraw;
  /** `poisson`: a random number per slot; `bernoulli`: one or none; `continuous`: Poisson, at any time. */
  readonly arrivals: (typeof ARRIVALS)[number];
  /** Mean number of arrivals per slot. */
  readonly rate: number;
  /** `geometric` and `fixed`: integer slots. */
  readonly service: (typeof SERVICES)[number];
  /** Mean service time, in slots. */
  readonly slots: number;
  readonly seed: number | string;
}

/** An infinite sequence of jobs. Equal settings give equal jobs. */
export function* drawJobs({
  sizes,
  arrivals,
  rate,
  service,
  slots,
  seed,
}: DrawnJobs): Generator<PackingJob, undefined> {
  const random = Random.seeded(seed);
  const [times, shapes] = [random.fork('arrivals'), random.fork('jobs')];
  // The result is above 0, so that its logarithm is finite.
  const above = (source: Random): number => 1 - source.next();
  const duration = (): number => {
    if (service === 'fixed') return slots;
    if (service === 'exponential') return -slots * Math.log(above(shapes));
    return 1 + Math.floor(Math.log(above(shapes)) / Math.log(1 - 1 / slots));
  };
  for (let at = 0; ; ) {
    if (arrivals === 'continuous') {
      at -= Math.log(above(times)) / rate;
      yield { at, size: sizeOf(drawSize(sizes, shapes)), duration: duration() };
      continue;
    }
    // Slots without an arrival are skipped in one step.
    const none = arrivals === 'poisson' ? Math.exp(-rate) : 1 - rate;
    at += 1 + (none > 0 ? Math.floor(Math.log(above(times)) / Math.log(none)) : 0);
    for (let count = arrivals === 'poisson' ? drawPositivePoisson(times, rate) : 1; count > 0; count--) {
      yield { at, size: sizeOf(drawSize(sizes, shapes)), duration: duration() };
    }
  }
}

/** Draws a Poisson number of arrivals, given that it is at least 1. */
function drawPositivePoisson(random: Random, rate: number): number {
  let left = random.next() * -Math.expm1(-rate);
  let count = 1;
  for (let share = rate * Math.exp(-rate); left >= share && share > 0; share *= rate / count) {
    left -= share;
    count++;
  }
  return count;
}

function drawSize(sizes: SizeDraw, random: Random): number {
  if (sizes.kind === 'uniform') return sizes.low + random.next() * (sizes.high - sizes.low);
  const { values, weights } = sizes;
  let left = random.next() * sumOf(weights);
  for (const [at, weight] of weights.entries()) {
    if (left < weight) return values[at]!;
    left -= weight;
  }
  return values.at(-1)!;
}

export function meanSize(sizes: SizeDraw): number {
  if (sizes.kind === 'uniform') return (sizes.low + sizes.high) / 2;
  const total = sumOf(sizes.weights);
  return sumOf(sizes.values, (value, at) => value * sizes.weights[at]!) / total;
}
