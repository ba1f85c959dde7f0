import type { CentralLine, JobExplanation } from '@goshawk/core';
import { expect, test } from 'vitest';
import { withCentral } from './explanations.js';

test('a task that waits at central has the limit that central names, for its own stage', () => {
  const waiting = [
    { stage: 'one', index: 0, reason: 'matching', tasks: 2, waitedMs: 10 },
    { stage: 'two', index: 1, reason: 'matching', tasks: 3, waitedMs: 10 },
    { stage: 'three', index: 2, reason: 'job-limit', tasks: 1, waitedMs: 10 },
  ] as const;
  const needs = [
    { stage: 1, reason: 'reserve', why: 'long tasks use 4 of at most 4 CPUs' },
    { stage: 2, reason: 'resources', why: 'no worker has gpu 1 (at most 0) free' },
  ];
  const explained = withCentral(
    { waiting, task: { stage: 'two', reason: 'matching' } } as unknown as JobExplanation,
    { needs } as unknown as CentralLine,
  );
  expect(explained.waiting.map(({ reason }) => reason)).toEqual(['matching', 'reserve', 'job-limit']);
  expect(explained.task?.reason).toBe('reserve');
});

test('the limit of a user holds only the tasks that it does not admit', () => {
  const waiting = [{ stage: 'tasks', index: 0, reason: 'matching', tasks: 7, waitedMs: 10 }] as const;
  const needs = [
    { stage: 0, tasks: 3 },
    { stage: 0, tasks: 4, reason: 'user-limit', why: '--users allows user bob 4 running tasks at a time' },
  ];
  const explained = withCentral(
    { waiting, task: { stage: 'tasks', reason: 'matching' } } as unknown as JobExplanation,
    { needs } as unknown as CentralLine,
  );
  expect(explained.waiting.map(({ reason, tasks }) => [reason, tasks])).toEqual([
    ['matching', 3],
    ['user-limit', 4],
  ]);
  expect(explained.task?.reason).toBe('matching');
});
