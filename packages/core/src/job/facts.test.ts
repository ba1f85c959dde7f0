import { expect, test } from 'vitest';
import { problemIn } from '../fields/check.js';
import type { FieldKind } from '../fields/fields.js';
import {
  FACT_NAMES,
  type FactSource,
  GIVEN_FACTS,
  type GivenFacts,
  givenFactsOf,
  NO_FACTS,
  receivedFacts,
  sentFacts,
} from './facts.js';
import { jobOutline } from './outline.js';
import { parseJobSpec } from './parse.js';
import type { JobInput } from './spec.js';
import { storedSpec } from './stored-spec.js';

/** A value other than `unset`. */
function sample({ wire, unset }: { readonly wire: FieldKind; readonly unset: unknown }): unknown {
  switch (wire.kind) {
    case 'flag':
      return !unset;
    case 'number':
    case 'count':
      return (unset as number) + 2;
    case 'choice':
      return wire.of.find((word) => word !== unset);
    case 'text':
      return 'text';
    default:
      throw new Error(`give facts.test.ts a sample of ${wire.kind}`);
  }
}

const given = Object.fromEntries(
  Object.entries(GIVEN_FACTS).map(([name, row]) => [name, sample(row)]),
) as GivenFacts;

function sourceOf(spec: FactSource['spec'], more: Partial<FactSource> = {}): FactSource {
  const job = { class: 'short', priority: 'normal', slackFactor: 1, tasks: { includedCount: 0 } } as const;
  return { ...job, parent: undefined, spec, ...more };
}

test('what a submitter gives reaches the policy from a job file, a stored job and an outline', () => {
  const input = { tasks: { count: 1, run: { sleep: 1 } }, ...given } as unknown as JobInput;
  const spec = parseJobSpec(input);
  expect(spec).toMatchObject(given);
  expect(problemIn(storedSpec, spec)).toBeUndefined();
  const [name] = Object.keys(given);
  expect(problemIn(storedSpec, { ...spec, [name!]: Symbol('none') })).toBe(name);
  expect(Object.keys((jobOutline as { fields: object }).fields)).toEqual(
    expect.arrayContaining(Object.keys(given)),
  );
  expect(receivedFacts(sentFacts(sourceOf(spec)))).toEqual({ ...NO_FACTS, ...given });
});

test('facts with default values are not sent, and are the same as those of a job that central does not know', () => {
  expect(sentFacts(sourceOf({ user: undefined, weight: 1 }))).toEqual({});
  expect(receivedFacts({})).toEqual(NO_FACTS);
  expect(givenFactsOf({ value: 0, preemptible: false })).toEqual({});
});

test('derived facts are sent', () => {
  const spec = { user: 'ann', weight: 4, prefer: { rack: 'r1' } };
  const parent = { job: 'a-1', task: 3, worker: 'w1', match: 2 };
  const source = sourceOf(spec, {
    class: 'long',
    priority: 'high',
    slackFactor: 1 / 8,
    parent,
    tasks: { includedCount: 9 },
  });
  const facts = receivedFacts(sentFacts(source));
  expect(facts).toEqual({
    ...NO_FACTS,
    long: true,
    priority: 'high',
    tasks: 9,
    user: 'ann',
    weight: 32,
    prefers: { rack: 'r1' },
    parent,
  });
  expect(Object.keys(facts)).toEqual(FACT_NAMES);
});
