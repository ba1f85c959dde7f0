import { type Address, type JobOutline, type PlannedEnd, parseJobSpec } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PlannedJobs } from './planned-jobs.js';

const END: PlannedEnd = { unknown: undefined, inMs: 5, earliestMs: 4, latestMs: 9 };

function outline(tasks: number, after: readonly number[] = []): JobOutline {
  const { demand } = parseJobSpec({ tasks: { count: 1, run: { sleep: 1 } } }).stages[0]!;
  const stage = { waiting: tasks, running: [], after, demand, completed: 0, meanMs: 0, deviationMs: 0 };
  return {
    ...{ job: 0, name: 'planned', user: undefined, priority: 'normal', weight: 1, ageMs: 0 },
    ...{ maxRunning: undefined, deadlineInMs: undefined, value: undefined, prefers: undefined },
    ...{ slowdown: undefined, preemptible: undefined, beginsInMs: undefined, endless: undefined },
    stages: [stage],
  } as unknown as JobOutline;
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('add'),
    client: fc.nat(4),
    request: fc.nat(30),
    tasks: fc.constantFrom(1, 60_000),
  }),
  fc.record({ kind: fc.constantFrom('take', 'fail', 'all') }),
);

test('each request is answered once, and no client waits for more than one job of each other client', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const asked = new Set<string>();
      const answered: string[] = [];
      const order: string[] = [];
      const jobs = new PlannedJobs((to, request) => answered.push(`${to}/${request}`));
      const waiting = new Map<string, number>();
      const serve = (isFailed: boolean) => {
        const before = answered.length;
        const taken = jobs.take();
        jobs.serve(isFailed ? [] : taken.map(() => END));
        for (const each of answered.slice(before)) order.push(each.split('/')[0]!);
        for (const each of waiting.keys()) waiting.set(each, waiting.get(each)! + taken.length);
        for (const each of answered) waiting.delete(each);
      };
      for (const each of steps) {
        if (each.kind === 'add') {
          const { client, request, tasks } = each as { client: number; request: number; tasks: number };
          const key = `${client}/${request}`;
          if (answered.includes(key)) continue;
          asked.add(key);
          const isWaiting = jobs.add(client as Address, `${client}`, request, outline(tasks));
          if (isWaiting && ![...waiting.keys()].some((other) => other.startsWith(`${client}/`)))
            waiting.set(key, 0);
        } else if (each.kind === 'all') {
          jobs.answerAll(END);
          waiting.clear();
        } else serve(each.kind === 'fail');
        // Five clients take turns, so that the first job of one is served within two rounds of all.
        for (const served of waiting.values()) expect(served).toBeLessThan(10);
      }
      while (!jobs.isEmpty) serve(false);
      expect(answered.length).toBe(asked.size);
      expect(new Set(answered)).toEqual(asked);
    }),
    { numRuns: 300 },
  );
});

test('a job whose stages are in a circle is refused before it is simulated', () => {
  const answers: PlannedEnd[] = [];
  const jobs = new PlannedJobs((_to, _request, end) => answers.push(end));
  expect(jobs.add(1 as Address, 'a', 1, outline(1, [0]))).toBe(false);
  expect(answers).toEqual([expect.objectContaining({ unknown: 'no-end' })]);
  expect(jobs.isEmpty).toBe(true);
});
