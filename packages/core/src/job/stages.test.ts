import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../limits.js';
import { parseJobSpec } from './parse.js';

const tasks = [{ sleep: 1 }];

/** Stages of which each depends on some of those before it, and names a stage of which it reads results. */
const drawn = fc
  .array(fc.record({ after: fc.array(fc.nat(40)), input: fc.nat(40) }), { minLength: 2, maxLength: 40 })
  .map((stages) =>
    stages.map(({ after, input }, index) => ({
      after: [...new Set(after.filter((other) => other < index))],
      input: index === 0 ? undefined : input % index,
    })),
  );

test('a stage may read results of the stages on which it depends, directly or not, and of no others', () => {
  fc.assert(
    fc.property(drawn, fc.nat(), (stages, seed) => {
      const reached: Set<number>[] = [];
      for (const { after } of stages)
        reached.push(new Set(after.flatMap((other) => [other, ...reached[other]!])));
      const isValid = stages.every(({ input }, index) => input === undefined || reached[index]!.has(input));
      const written = stages.map(({ after, input }, index) => ({
        name: `s${index}`,
        after: after.map((other) => `s${other}`),
        ...(input !== undefined && { inputs: [`s${input}`] }),
        tasks,
      }));
      // In any order.
      const mixed = written.map((stage, at) => ({ stage, at: (at * 7_919 + seed) % written.length }));
      const job = { stages: mixed.sort((one, other) => one.at - other.at).map(({ stage }) => stage) };
      if (!isValid) {
        expect(() => parseJobSpec(job)).toThrow('a stage that it does not depend on');
        return;
      }
      const parsed = parseJobSpec(job).stages;
      for (const [place, { after }] of parsed.entries())
        for (const other of after) expect(other).toBeLessThan(place);
      expect(parsed).toHaveLength(stages.length);
    }),
  );
});

test('a job with many dependencies is refused', () => {
  const dense = (count: number) => ({
    stages: Array.from({ length: count }, (_, index) => ({
      name: `s${index}`,
      after: Array.from({ length: index }, (_, other) => `s${other}`),
      tasks,
    })),
  });
  expect(parseJobSpec(dense(440)).stages).toHaveLength(440);
  const count = (900 * 899) / 2;
  expect(() => parseJobSpec(dense(900))).toThrow(
    `name ${count} dependencies; at most ${LIMITS.dependenciesPerJobMax}`,
  );
});
