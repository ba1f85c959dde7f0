import type { Address } from '@goshawk/core';
import { expect, test } from 'vitest';
import { PendingTasks } from './pending-tasks.js';
import type { PlacedTask } from './waiting-time-queue.js';

function taskOf(owner: number, job: number, task: number, attempt = 1): PlacedTask {
  return { owner: owner as Address, job, stage: 0, task, attempt, long: true, estimateMs: 1, demand: {} };
}

test('tasks that wait come out in the order in which they came, each once, with its latest attempt', () => {
  const pending = new PendingTasks();
  for (const task of [taskOf(1, 1, 0), taskOf(1, 1, 1), taskOf(2, 1, 0), taskOf(1, 1, 0, 2)])
    pending.add(task);
  expect(pending.size).toBe(3);
  expect(pending.takeAll()).toEqual([taskOf(1, 1, 0, 2), taskOf(1, 1, 1), taskOf(2, 1, 0)]);
  expect(pending.takeAll()).toEqual([]);
});

test('what is withdrawn does not come out', () => {
  const pending = new PendingTasks();
  for (const task of [taskOf(1, 1, 0), taskOf(1, 2, 0), taskOf(2, 1, 0)]) pending.add(task);
  pending.remove(({ owner, job }) => owner === 1 && job === 1);
  expect(pending.takeAll()).toEqual([taskOf(1, 2, 0), taskOf(2, 1, 0)]);
});
