import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { PlanProblem } from './forward.js';
import { type Plan, pathsToEnd, planJob } from './plan.js';
import { randomProblem } from './random-dags.fixture.js';

const DAGS = 3_000;
const SEED = 'plans';

interface Span {
  readonly stage: number;
  readonly from: number;
  readonly until: number;
}

/** Every task separately: running ones, and those that the plan starts. */
function spansOf({ stages, running }: PlanProblem, { starts }: Plan): Span[] {
  const spans = running.map(({ stage, remainingMs }) => ({ stage, from: 0, until: remainingMs }));
  starts.forEach((places, stage) => {
    for (const { atMs, count } of places) {
      for (let i = 0; i < count; i++)
        spans.push({ stage, from: atMs, until: atMs + stages[stage]!.durationMs });
    }
  });
  return spans;
}

/** Violations of a plan, in words. */
function violations(problem: PlanProblem, plan: Plan): string[] {
  const { stages, share } = problem;
  const spans = spansOf(problem, plan);
  const found: string[] = [];
  for (const { from } of spans) {
    for (let r = 0; r < share.length; r++) {
      let used = 0;
      for (const span of spans) {
        if (span.from <= from && from < span.until) used += stages[span.stage]!.demand[r]!;
      }
      if (used > share[r]!)
        found.push(`${used} of resource ${r} are used at ${from}, the share is ${share[r]}`);
    }
  }
  stages.forEach(({ unstarted, parents }, stage) => {
    const planned = plan.starts[stage]!.reduce((sum, { count }) => sum + count, 0);
    if (planned !== unstarted) found.push(`${planned} of ${unstarted} tasks of stage ${stage} are planned`);
    for (const { stage: parent, until } of spans) {
      if (until > plan.endMs) found.push(`stage ${parent} ends at ${until}, the plan at ${plan.endMs}`);
      if (!parents.includes(parent)) continue;
      for (const child of spans) {
        if (child.stage === stage && child.from < until)
          found.push(`stage ${stage} starts before ${parent} ends`);
      }
    }
    const must = plan.starts[stage]!.reduce((sum, { atMs, count }) => (atMs <= 0 ? sum + count : sum), 0);
    if (must > plan.greedyNow[stage]!) found.push(`${must} tasks must start, ${plan.greedyNow[stage]} could`);
  });
  return found;
}

test.each([
  ['alignment', 0],
  ['alignment', 16],
  ['critical path', 16],
])(
  `plans of ${DAGS} random jobs by %s hold capacity, precedence and the end (batches over %i)`,
  (order, oneByOneMax) => {
    const random = Random.seeded(SEED);
    for (let i = 0; i < DAGS; i++) {
      const problem = randomProblem(random);
      const ranks = order === 'alignment' ? undefined : pathsToEnd(problem.stages);
      const found = violations(problem, planJob(problem, { ranks, oneByOneMax }));
      if (found.length > 0) expect.fail(`job ${i} of seed ${SEED}: ${found.join('; ')}`);
    }
  },
);

test('a job that uses more than its share has to wait until it fits', () => {
  const stage = { unstarted: 1, demand: [2], durationMs: 5, parents: [] };
  const running = [
    { stage: 0, remainingMs: 3 },
    { stage: 0, remainingMs: 4 },
  ];
  const plan = planJob(
    { stages: [stage], running, share: [2], whole: [8] },
    { ranks: undefined, oneByOneMax: 16 },
  );
  expect([plan.endMs, plan.starts]).toEqual([9, [[{ atMs: 4, count: 1 }]]]);
});
