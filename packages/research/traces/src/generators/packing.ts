import { Random, sumOf } from '@goshawk/core';
import { exponential, pickAt } from '../draws.js';
import { WorkloadError } from '../errors.js';
import { jobOf, type TraceJob } from '../job.js';
import { defineGenerator } from './generator.js';
import { choice, count, type GeneratorOption, positive, seed } from './options.js';

/** A distribution of sizes, as shares of a machine. */
interface Sizes {
  readonly mean: number;
  draw(random: Random): number;
}

const DIGITS = 1e6;

/** Parses `uniform,LOW,HIGH`, or `SIZE:WEIGHT,…` with an optional weight of 1. */
function sizesOf(text: string): Sizes | undefined {
  const [first = '', ...rest] = text.split(',');
  const isShare = (share: number): boolean => share > 0 && share <= 1;
  if (first === 'uniform') {
    const [low = Number.NaN, high = Number.NaN] = rest.map(Number);
    if (rest.length !== 2 || !isShare(low) || !isShare(high) || low > high) return undefined;
    return { mean: (low + high) / 2, draw: (random) => low + random.next() * (high - low) };
  }
  const parts = [first, ...rest].map((part) => part.split(':'));
  const values = parts.map(([size]) => Number(size));
  const weights = parts.map(([, weight = '1']) => Number(weight));
  if (!values.every(isShare) || !weights.every((weight) => weight > 0 && weight < Infinity)) return undefined;
  const total = sumOf(weights);
  return {
    mean: sumOf(values, (value, at) => (value * weights[at]!) / total),
    draw: (random) => values[pickAt([...weights.keys()], (at) => weights[at]!, random.next() * total)]!,
  };
}

const sizes: GeneratorOption<string> = {
  default: 'uniform,0.1,0.9',
  description: 'shares of a machine that tasks request: uniform,LOW,HIGH or SIZE:WEIGHT,SIZE:WEIGHT',
  accepts: 'uniform,LOW,HIGH or SIZE:WEIGHT,… with shares above 0 and at most 1',
  isList: true,
  parse: (text) => (sizesOf(text) === undefined ? undefined : text),
};

/** The workload of packing policies: `docs/PACKING.md`. A slot is a second. */
export const packing = defineGenerator({
  name: 'packing',
  description: 'jobs of one task, each with a random share of a machine as its CPU demand',
  options: {
    jobs: count(1000, 'number of jobs'),
    sizes,
    cpus: positive(4, 'cores of the machine that sizes are shares of'),
    arrivals: choice(
      ['poisson', 'bernoulli', 'continuous'],
      'any number per second, at most one per second, or at any time',
    ),
    service: choice(['geometric', 'exponential', 'fixed'], 'distribution of the task durations'),
    mean: positive(100, 'mean task duration in seconds'),
    load: positive(0.9, 'work submitted per second, divided by the number of machines'),
    machines: count(5, 'machines that `load` refers to'),
    seed: seed(),
  },
  generate: function* (options): Generator<TraceJob> {
    const { jobs, cpus, arrivals, service, mean, load, machines } = options;
    const random = Random.seeded(options.seed).fork('packing');
    const [times, draws] = [random.fork('arrivals'), random.fork('jobs')];
    const drawn = sizesOf(options.sizes)!;
    const rate = (load * machines) / mean / drawn.mean;
    if (arrivals === 'bernoulli' && rate >= 1) {
      const wanted = `packing: the load needs ${rate.toPrecision(3)} jobs per second`;
      throw new WorkloadError(
        wanted,
        'bernoulli allows at most one: write arrivals=poisson, or longer tasks',
      );
    }
    if (service === 'geometric' && mean < 1) {
      throw new WorkloadError(`packing: mean is ${mean}`, 'geometric durations are at least one second');
    }
    // The number of consecutive seconds without an arrival is geometric.
    const none = Math.log(1 - rate);
    let at = 0;
    for (let job = 0; job < jobs; job++) {
      at +=
        arrivals === 'bernoulli'
          ? 1 + Math.floor(Math.log(1 - times.next()) / none)
          : exponential(times, 1 / rate);
      const submitted = arrivals === 'poisson' ? Math.floor(at) : Math.round(at * DIGITS) / DIGITS;
      const size = drawn.draw(draws);
      const duration = durationOf(service, mean, draws);
      yield {
        ...jobOf(submitted, Float64Array.of(duration)),
        demand: { cpu: Math.round(size * cpus * 1e3) / 1e3 },
      };
    }
  },
});

function durationOf(service: 'geometric' | 'exponential' | 'fixed', mean: number, random: Random): number {
  if (service === 'fixed') return mean;
  if (service === 'exponential') return Math.round(exponential(random, mean) * DIGITS) / DIGITS;
  return mean === 1 ? 1 : 1 + Math.floor(Math.log(1 - random.next()) / Math.log(1 - 1 / mean));
}
