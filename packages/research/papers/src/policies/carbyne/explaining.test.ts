import type { StageView } from '@goshawk/policies';
import { PolicyBench } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers } from '../../index.js';
import { CARBYNE_POLICIES } from './table.js';

addPapers();

/** One worker with four cores, all used by job 1 while job 2 waits. */
function bench(policy: string): PolicyBench {
  const made = new PolicyBench(policy, 1, { slots: 8, capacity: { cpu: 4 }, options: { quantumMs: 0 } });
  made.need(1, { tasks: 6, estimateMs: 4_000, demand: { cpu: 1 } });
  made.need(2, { tasks: 1, estimateMs: 1_000, demand: { cpu: 1 } });
  return made;
}

function explained(made: PolicyBench, stage: StageView): string | undefined {
  return made.policy.explain?.(stage, made.books, made.now)?.sentence;
}

test.each(Object.keys(CARBYNE_POLICIES))(
  '%s says what a waiting stage has, is due, and waits for',
  (policy) => {
    const made = bench(policy);
    const second = explained(made, made.stage(2)) ?? '';
    expect(second).toContain('no worker has room for it now');
    expect(second).toContain('its job has 0% of cpu, and 50% is its fair share');
    expect(second).toContain('1 other job waits');
  },
);

test('carbyne reports the planned end of a job, and whether it must start now to meet it', () => {
  const made = bench('carbyne');
  made.end(1);
  made.end(1);
  made.now += 500;
  made.settle();
  const sentence = explained(made, made.stage(1)) ?? '';
  expect(sentence).toMatch(/its job must end within .+, as with its fair share alone/);
  expect(sentence).toContain('free resources go first to jobs with less remaining work');
});

test('a stage without waiting tasks is not explained', () => {
  const made = bench('drf');
  made.end(1);
  expect(made.count(2)).toBe(1);
  expect(explained(made, made.stage(2))).toBeUndefined();
});

test('shares are equal, and follow weights and users', () => {
  const made = bench('drf');
  const dueOf = (job: number) => Array.from(made.policy.shares!(made.books)!.dueTo(made.stage(job).job));
  expect(made.policy.shares!(made.books)!.by).toBe('job');
  expect(dueOf(1)).toEqual([4, 2_000]);
  expect(dueOf(2)).toEqual([4, 2_000]);
  const { books } = made;
  books.declare(made.stage(1).job.owner.address, 1, { arrivedAt: 0, weight: 3 });
  made.settle();
  expect(dueOf(1)).toEqual([6, 3_000]);
});
