import { InputError, type Millis, type Resources } from '@goshawk/core';

/**
 * What makes two jobs alike (3σPredict §4.1): a feature is one attribute of a job, or several together, and
 * history is kept for each value that it takes. No single feature tells all jobs apart, so there are several.
 */

/** What is known of a job before it runs. An attribute that is absent makes no feature. */
export interface JobTraits {
  readonly name?: string | undefined;
  /** A name that stays the same from one run of a recurring job to the next. */
  readonly logicalName?: string | undefined;
  readonly user?: string | undefined;
  readonly tasks: number;
  /** Google's: 0 for what nobody waits for, up to 3 for what serves users. */
  readonly schedulingClass?: number | undefined;
  readonly demand?: Resources | undefined;
  /** Since an hour that begins a day: since 1970 in UTC live, since its start in a trace. */
  readonly submittedAtMs: Millis;
}

const HOUR_MS = 3_600_000;

type Attribute = (job: JobTraits) => string | number | undefined;

export const ATTRIBUTES = {
  name: (job) => job.name,
  logical: (job) => job.logicalName,
  user: (job) => job.user,
  tasks: (job) => job.tasks,
  class: (job) => job.schedulingClass,
  resources: (job) => resourcesOf(job.demand),
  hour: (job) => Math.floor(job.submittedAtMs / HOUR_MS) % 24,
  all: () => '',
} as const satisfies Record<string, Attribute>;

export type AttributeName = keyof typeof ATTRIBUTES;

/** Attributes joined by `+`. The order decides between experts that are equally good. */
export const DEFAULT_FEATURES: readonly string[] = [
  'name',
  'logical',
  'user',
  'user+name',
  'user+logical',
  'user+tasks',
  'user+hour',
  'class',
  'resources',
  'all',
];

/** Of one job, the value of one feature: a key that no other value of any feature has. */
export type KeyOf = (job: JobTraits) => string | undefined;

const SEPARATOR = '\u0000';

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
