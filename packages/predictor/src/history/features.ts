import { InputError, type Resources } from '@goshawk/core';
import type { ArrivingJob } from '../estimator.js';

/**
 * What makes two jobs alike (3σPredict §4.1): a feature is one attribute of a job, or several together, and
 * history is kept for each value that it takes. No single feature tells all jobs apart, so there are several. An
 * attribute that a job does not have makes no feature.
 */

const HOUR_MS = 3_600_000;

type Attribute = (job: ArrivingJob) => string | number | undefined;

export const ATTRIBUTES = {
  name: (job) => job.name,
  logical: (job) => job.logicalName,
  user: (job) => job.user,
  tasks: (job) => job.tasks,
  class: (job) => job.schedulingClass,
  resources: (job) => resourcesOf(job.demand),
  hour: (job) => Math.floor(job.submittedAt / HOUR_MS) % 24,
  all: () => '',
} as const satisfies Record<string, Attribute>;

export type AttributeName = keyof typeof ATTRIBUTES;

/** Attributes joined by `+`. The order decides between experts that are equally good. */
export const DEFAULT_FEATURES: readonly string[] = [
  'name',
  'logical',
  'user',
  'user+name',
  'user+tasks',
  'user+hour',
  'class',
  'resources',
  'all',
];

/** Of one job, the value of one feature: a key that no other value of any feature has. */
export type KeyOf = (job: ArrivingJob) => string | undefined;

/** A key is made of what people write; one longer than this makes no feature, so that memory stays bounded. */
export const KEY_LENGTH_MAX = 600;

/** Between a feature and the values of its attributes; in names, nobody writes it. */
export const SEPARATOR = '\u0000';

/** @throws InputError that names the attributes there are */
export function parseFeature(feature: string): KeyOf {
  const attributes = feature.split('+').map((name) => {
    if (Object.hasOwn(ATTRIBUTES, name)) return ATTRIBUTES[name as AttributeName] as Attribute;
    throw new InputError(
      'bad-feature',
      `there is no attribute "${name}" for the feature "${feature}"`,
      `join by + some of ${Object.keys(ATTRIBUTES).join(', ')}`,
    );
  });
  return (job) => {
    let key = feature;
    for (const attribute of attributes) {
      const value = attribute(job);
      if (value === undefined) return undefined;
      key += SEPARATOR + value;
    }
    return key;
  };
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
