import { jobSpecSchema, parseWith } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { ROUTES } from './routes.js';

/** Faulty entries of a list or record, and the most issues that zod may describe for them. */
const ENTRIES = 3_000;
const ISSUES_MAX = 100;
/** A value that no field accepts. */
const FAULTY = Symbol('faulty');

interface Definition {
  readonly type: string;
  readonly getter?: () => z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly options?: readonly z.core.$ZodType[];
  readonly element?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
}

/** Values of a schema in which one list or record has only faulty entries, by the place of that list. */
function* crowded(
  schema: z.core.$ZodType,
  place: string,
): Generator<{ readonly place: string; readonly value: unknown }> {
  const def = schema._zod.def as Definition;
  switch (def.type) {
    case 'lazy':
      yield* crowded(def.getter!(), place);
      break;
    case 'object':
      for (const [name, field] of Object.entries(def.shape!))
        for (const { place: at, value } of crowded(field, `${place}.${name}`))
          yield { place: at, value: { [name]: value } };
      yield { place: `${place}.*`, value: record('unknown') };
      break;
    case 'union':
      for (const option of def.options!) yield* crowded(option, place);
      break;
    case 'array':
      yield { place: `${place}[]`, value: Array.from({ length: ENTRIES }, () => FAULTY) };
      for (const { place: at, value } of crowded(def.element!, `${place}[]`))
        yield { place: at, value: Array.from({ length: 300 }, () => value) };
      break;
    case 'record':
      yield { place: `${place}{}`, value: record('k') };
      break;
    default:
      for (const inner of [def.innerType, def.in]) if (inner !== undefined) yield* crowded(inner, place);
  }
}

function record(prefix: string): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: ENTRIES }, (_, index) => [`${prefix}${index}`, FAULTY]));
}

/** All issues, with those of the options of unions. */
function countIssues(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce(
    (sum, issue) => sum + 1 + (issue.code === 'invalid_union' ? countIssues(issue.errors.flat()) : 0),
    0,
  );
}

const schemas = [
  ['job', jobSpecSchema] as const,
  ...ROUTES.flatMap(({ method, url, body }) =>
    body === undefined ? [] : [[`${method} ${url}`, body] as const],
  ),
];

test.each(schemas)(
  'faulty entries of any list or record of %s cost a bounded number of issues',
  (name, schema) => {
    const places = [...crowded(schema, '')];
    for (const { place, value } of places) {
      const { error } = parseWith(schema as z.ZodType, value);
      if (error !== undefined)
        expect({ place, isBounded: countIssues(error.issues) <= ISSUES_MAX }).toEqual({
          place,
          isBounded: true,
        });
    }
    if (name === 'job') expect(new Set(places.map(({ place }) => place)).size).toBeGreaterThan(20);
  },
);
