import { InputError, type Resources } from '@goshawk/core';
import type { ArrivingJob } from '../estimator.js';
import { Fingerprint } from './fingerprint.js';

const HOUR_MS = 3_600_000;

type Attribute = (job: ArrivingJob) => string | number | undefined;

export const ATTRIBUTES = {
  name: (job) => job.name,
  logical: (job) => job.logicalName,
  user: (job) => job.user,
  tasks: (job) => job.tasks,
  class: (job) => job.schedulingClass,
  resources: (job) => resourcesOf(job.demand),
  stage: ({ stage }) => stage,
  hour: (job) => Math.floor(job.submittedAt / HOUR_MS) % 24,
  all: () => 0,
} as const satisfies Record<string, Attribute>;

type AttributeName = keyof typeof ATTRIBUTES;

/**
 * Features by which jobs are similar (3σPredict §4.1): attributes joined by `+`. History is kept for each value of each
 * feature. A job without one of the attributes has no value of the feature. Earlier features win ties between experts.
 */
export const DEFAULT_FEATURES: readonly string[] = [
  'name',
  'logical',
  'user',
  'user+name',
  'user+tasks',
  'user+hour',
  'name+stage',
  'class',
  'resources',
  'all',
];

/** A feature, as indices of its attributes. */
interface Feature {
  readonly seed: Fingerprint;
  readonly attributes: readonly number[];
}

/**
 * The values of a job's features, each as a unique number: a fingerprint of 53 bits. Joining, hashing and storing
 * long names would cost more than the history itself.
 */
export class FeatureKeys {
  readonly #attributes: readonly Attribute[];
  readonly #features: readonly Feature[];
  /** Fingerprints by attribute, for one job at a time. */
  readonly #fingerprints: readonly Fingerprint[];
  readonly #isPresent: boolean[];
  readonly #keys: Float64Array;
  readonly #scratch = new Fingerprint();

  /** @throws InputError that lists the attributes */
  constructor(features: readonly string[]) {
    const named = features.map((feature) => ({ feature, names: attributesOf(feature) }));
    const names = [...new Set(named.flatMap((of) => of.names))];
    this.#attributes = names.map((name): Attribute => ATTRIBUTES[name]);
    this.#fingerprints = names.map(() => new Fingerprint());
    this.#isPresent = names.map(() => false);
    this.#features = named.map(({ feature, names: of }) => {
      const seed = new Fingerprint();
      seed.begin();
      seed.addText(feature);
      return { seed, attributes: of.map((name) => names.indexOf(name)) };
    });
    this.#keys = new Float64Array(features.length);
  }

  /** Returns the job's value of each feature; NaN if it has none. The next call overwrites the array. */
  of(job: ArrivingJob): Float64Array {
    for (let place = 0; place < this.#attributes.length; place++) {
      const value = this.#attributes[place]!(job);
      const print = this.#fingerprints[place]!;
      this.#isPresent[place] = value !== undefined;
      print.begin();
      if (typeof value === 'string') print.addText(value);
      else if (value !== undefined) print.addNumber(value);
    }
    for (let place = 0; place < this.#features.length; place++) {
      this.#keys[place] = this.#keyOf(this.#features[place]!);
    }
    return this.#keys;
  }

  #keyOf({ seed, attributes }: Feature): number {
    this.#scratch.copy(seed);
    for (const attribute of attributes) {
      if (!this.#isPresent[attribute]) return Number.NaN;
      this.#scratch.join(this.#fingerprints[attribute]!);
    }
    return this.#scratch.value;
  }
}

function attributesOf(feature: string): AttributeName[] {
  return feature.split('+').map((name) => {
    if (Object.hasOwn(ATTRIBUTES, name)) return name as AttributeName;
    throw new InputError(
      'bad-feature',
      `there is no attribute "${name}" for the feature "${feature}"`,
      `join by + some of ${Object.keys(ATTRIBUTES).join(', ')}`,
    );
  });
}

function resourcesOf(demand: Resources | undefined): string | undefined {
  if (demand === undefined) return undefined;
  const amounts = Object.entries(demand);
  if (amounts.length === 0) return undefined;
  return amounts
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name}=${amount}`)
    .join(',');
}
