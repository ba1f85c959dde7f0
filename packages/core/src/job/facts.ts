import { z } from 'zod';
import {
  choice,
  countTo,
  type Field,
  flag,
  list,
  number,
  type OptionalField,
  optional,
  rare,
} from '../fields/fields.js';
import { type Attribute, name, type ParentRun, parentRun, wish } from '../fields/records.js';
import { LIMITS } from '../limits.js';
import { type Attributes, attributesByName, listAttributes } from '../needs/attributes.js';
import type { JobClass } from '../policy/presets.js';
import { PRIORITIES, type Priority } from './priority.js';

/**
 * What policies know of a job. A submitter gives some facts, and each of these is one row of `GIVEN_FACTS`: job files,
 * stored jobs, traces, forecasts, the description that an owner sends to central, and `JobView` take it from there. The
 * owner derives the other facts of `JOB_FACTS`.
 */

interface GivenFact<T> {
  /** The field of a job file, with its documentation. */
  readonly given: () => z.ZodOptional<z.ZodType<T, T>>;
  readonly wire: Field<T>;
  /** Value of jobs whose submitters give none. */
  readonly unset: T;
}

const given = <T>(fact: GivenFact<T>): GivenFact<T> => fact;

/** Facts that policies read as their submitters have given them. */
export const GIVEN_FACTS = {
  /** Value of meeting the deadline; 0: the policy's default. */
  value: given<number>({
    given: () =>
      z
        .number()
        .positive()
        .max(LIMITS.weightMax)
        .optional()
        .describe('value of meeting the deadline, relative to other jobs'),
    wire: number,
    unset: 0,
  }),
  /** Whether its running tasks may be killed for a job that would otherwise miss its deadline. */
  preemptible: given<boolean>({
    given: () =>
      z
        .boolean()
        .optional()
        .describe(
          'allow running tasks to be killed and restarted later for a job that would otherwise miss its deadline',
        ),
    wire: flag,
    unset: false,
  }),
};

type GivenRows = typeof GIVEN_FACTS;
type ValueOf<Row> = Row extends GivenFact<infer T> ? T : never;

/** The given facts of a job; absent: not given. */
export type GivenFacts = { readonly [N in keyof GivenRows]?: ValueOf<GivenRows[N]> | undefined };

const GIVEN_NAMES = Object.keys(GIVEN_FACTS) as (keyof GivenRows)[];

/** Copies the facts that are given and differ from `unset`. */
export function givenFactsOf(
  from: {
    readonly [N in keyof GivenRows]?: ValueOf<GivenRows[N]> | null | undefined;
  },
): { readonly [N in keyof GivenRows]?: ValueOf<GivenRows[N]> } {
  const facts: Partial<Record<keyof GivenRows, unknown>> = {};
  for (const name of GIVEN_NAMES) {
    const value = from[name];
    if (value != null && value !== GIVEN_FACTS[name].unset) facts[name] = value;
  }
  return facts as ReturnType<typeof givenFactsOf>;
}

function eachGiven<T>(of: (row: GivenFact<never>) => T): Record<keyof GivenRows, T> {
  const made: Partial<Record<keyof GivenRows, T>> = {};
  for (const name of GIVEN_NAMES) made[name] = of(GIVEN_FACTS[name] as GivenFact<never>);
  return made as Record<keyof GivenRows, T>;
}

/** The fields of job files. */
export function givenSchemas(): { readonly [N in keyof GivenRows]: ReturnType<GivenRows[N]['given']> } {
  return eachGiven((row) => row.given()) as ReturnType<typeof givenSchemas>;
}

/** The fields of stored jobs and of outlines. */
export const givenFields = eachGiven((row) => optional(row.wire)) as {
  readonly [N in keyof GivenRows]: OptionalField<ValueOf<GivenRows[N]>>;
};

/** What facts are derived from: a job, as its owner knows it. */
export interface FactSource {
  readonly spec: GivenFacts & {
    readonly user: string | undefined;
    readonly weight: number;
    readonly prefer?: Attributes;
  };
  readonly class: JobClass;
  readonly priority: Priority;
  /** Factor for its priority, which multiplies the work by which jobs are ordered. */
  readonly slackFactor: number;
  readonly parent: ParentRun | undefined;
  readonly tasks: { readonly includedCount: number };
}

interface Fact<Wire, T> {
  readonly wire: Field<Wire>;
  /** Value of jobs whose owners send none. */
  readonly unset: T;
  readonly of: (job: FactSource) => Wire | undefined;
  readonly read: (wire: Wire) => T;
  /** It never changes, so policies are not notified of it. */
  readonly isFixed?: true;
}

function fact<T>(wire: Field<T>, unset: T, of: (job: FactSource) => T | undefined): Fact<T, T> {
  return { wire, unset, of, read: (value) => value };
}

function fixed<Wire, T>(row: Omit<Fact<Wire, T>, 'isFixed'>): Fact<Wire, T> {
  return { ...row, isFixed: true };
}

const NO_ATTRIBUTES: Attributes = {};

type GivenJobFacts = { readonly [N in keyof GivenRows]: Fact<ValueOf<GivenRows[N]>, ValueOf<GivenRows[N]>> };

/** All facts of a job that policies read, apart from times. */
export const JOB_FACTS = {
  /** Whether its owner classified it as long. */
  long: fact<boolean>(flag, false, (job) => job.class === 'long'),
  priority: fact<Priority>(choice(...PRIORITIES), 'normal', (job) => job.priority),
  /** Number of tasks in all stages. */
  tasks: fact<number>(countTo(LIMITS.tasksPerJobMax), 0, (job) => job.tasks.includedCount),
  /** Empty: unknown user. */
  user: fact<string>(name, '', ({ spec }) => spec.user),
  /** Weight of the job, which includes its priority. */
  weight: fact<number>(number, 1, ({ spec, slackFactor }) => spec.weight / slackFactor),
  /** Preferred attributes of workers; empty: no preference. */
  prefers: fixed<readonly Attribute[], Attributes>({
    wire: list(wish, LIMITS.attributesMax),
    unset: NO_ATTRIBUTES,
    of: ({ spec }) => listAttributes(spec.prefer),
    read: attributesByName,
  }),
  /** The task that submitted it, as its submitter says; see `ClusterView.parentOf`. undefined: none. */
  parent: fixed<ParentRun, ParentRun | undefined>({
    wire: parentRun,
    unset: undefined,
    of: (job) => job.parent,
    read: (value) => value,
  }),
  ...(Object.fromEntries(
    GIVEN_NAMES.map((name) => {
      const { wire, unset } = GIVEN_FACTS[name];
      return [name, fact<unknown>(wire, unset, ({ spec }) => spec[name])];
    }),
  ) as unknown as GivenJobFacts),
};

type Rows = typeof JOB_FACTS;
export type FactName = keyof Rows;

/** The facts of a job. */
export type JobFactValues = {
  readonly [N in FactName]: Rows[N] extends Fact<infer _, infer T> ? T : never;
};
type WireFacts = {
  readonly [N in FactName]?: (Rows[N] extends Fact<infer W, infer _> ? W : never) | undefined;
};

export const FACT_NAMES = Object.keys(JOB_FACTS) as FactName[];
const FACTS: readonly (readonly [FactName, Fact<unknown, unknown>])[] = FACT_NAMES.map((name) => [
  name,
  JOB_FACTS[name] as unknown as Fact<unknown, unknown>,
]);

/** Facts whose changes policies are notified of. */
export const CHANGING_FACTS = FACTS.filter(([, { isFixed }]) => isFixed !== true).map(([name]) => name);
export const FIXED_FACTS = FACTS.filter(([, { isFixed }]) => isFixed === true).map(([name]) => name);

/** The facts of a job whose owner has sent none. */
export const NO_FACTS = Object.fromEntries(
  FACTS.map(([name, { unset }]) => [name, unset]),
) as unknown as JobFactValues;

/** The fields of a message that describes a job. Absent: `unset`. */
export const factFields = Object.fromEntries(
  FACTS.map(([name, { wire }]) => [name, rare(wire)]),
) as unknown as {
  readonly [N in FactName]: OptionalField<NonNullable<WireFacts[N]>> & { readonly rare: true };
};

/** The facts of a job, for a message; omits those that have the value `unset`. */
export function sentFacts(job: FactSource): WireFacts {
  const sent: Partial<Record<FactName, unknown>> = {};
  for (const [name, { of, unset }] of FACTS) {
    const value = of(job);
    if (value !== undefined && value !== unset) sent[name] = value;
  }
  return sent as WireFacts;
}

/** The facts of a job from a message. */
export function receivedFacts(sent: WireFacts): JobFactValues {
  const facts: Partial<Record<FactName, unknown>> = {};
  for (const [name, { read, unset }] of FACTS) {
    const value = sent[name];
    facts[name] = value === undefined ? unset : read(value);
  }
  return facts as JobFactValues;
}
