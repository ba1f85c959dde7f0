import type { Address } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkJob } from './invariants.js';
import { jobOf, startTasks } from './job.fixture.js';
import type { Job } from './job.js';
import { TASK_STATE_NAMES, TaskState } from './task-state.js';

function stagesOf(...counts: number[]): Job {
  return jobOf({ stages: counts.map((count, i) => ({ name: `${i}`, tasks: { count, run: { sleep: i } } })) });
}

test('a task that runs at no worker is noticed', () => {
  const job = stagesOf(2);
  expect(() => job.setState(0, TaskState.running)).toThrow('task 0 of job 1 is running at no worker');
});

describe('the counts of a job', () => {
  // Tasks are skipped from the start, or never.
  const set = Object.values(TaskState).filter((state) => state !== TaskState.skipped);
  const state = fc.constantFrom(...set);
  const change = fc.record({ task: fc.nat(), state });

  test('follow every change of a task, in its job and in its stage', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
        fc.array(change),
        (sizes, changes) => {
          const job = stagesOf(...sizes);
          for (let task = 0; task < job.taskCount; task++) job.tasks.setWorker(task, 1 as Address);
          const model = new Array<TaskState>(job.taskCount).fill(TaskState.blocked);
          for (const { task: any, state } of changes) {
            const task = any % job.taskCount;
            if (model[task]! >= TaskState.completed && state !== model[task]) {
              expect(() => job.setState(task, state)).toThrow(/left the final state/);
              continue;
            }
            job.setState(task, state);
            model[task] = state;
          }
          const count = (...states: TaskState[]) => model.filter((other) => states.includes(other)).length;
          for (const state of Object.values(TaskState)) expect(job.tasks.countOf(state)).toBe(count(state));
          const { completed, failed, cancelled, skipped, running } = TaskState;
          const total = model.length - count(skipped);
          expect(job.counts).toEqual({
            total,
            waiting: total - count(completed, failed, cancelled, running),
            running: count(running),
            completed: count(completed),
            failed: count(failed),
            cancelled: count(cancelled),
          });
          expect(job.unfinishedCount).toBe(total - count(completed, failed, cancelled));
          for (const stage of job.stages) {
            const own = model.slice(stage.first, stage.first + stage.count);
            expect(stage.waiting).toBe(own.filter((other) => other === TaskState.waiting).length);
            expect(stage.unfinished).toBe(own.filter((other) => other < TaskState.completed).length);
          }
          if (job.unfinishedCount === 0) job.end(1);
          checkJob(job);
        },
      ),
    );
  });

  test('every state has a name', () => {
    expect(TASK_STATE_NAMES.map((name) => TaskState[name])).toEqual(TASK_STATE_NAMES.map((_, i) => i));
  });
});

describe('waiting tasks', () => {
  test('are taken once each, returned ones before those that never ran, in task order', () => {
    const job = stagesOf(4);
    const [stage] = job.stages;
    job.release(stage!, 0);
    const take = () => {
      const task = job.waiting.takeNext(stage!);
      if (task >= 0) startTasks(job, task);
      return task;
    };
    expect([take(), take()]).toEqual([0, 1]);
    job.requeue(1);
    job.requeue(0);
    expect([take(), take(), take(), take(), take()]).toEqual([1, 0, 2, 3, -1]);
  });

  test('that were cancelled meanwhile are not taken', () => {
    const job = stagesOf(3);
    const [stage] = job.stages;
    job.release(stage!, 0);
    startTasks(job, job.waiting.takeNext(stage!));
    job.requeue(0);
    job.setState(0, TaskState.cancelled);
    job.setState(1, TaskState.cancelled);
    expect(job.waiting.takeNext(stage!)).toBe(2);
  });

  test('belong to the stage that counts them', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }), (sizes) => {
        const job = stagesOf(...sizes);
        for (const stage of job.stages) {
          for (let task = stage.first; task < stage.first + stage.count; task++) {
            expect(job.dag.stageOf(task)).toBe(stage);
            expect(job.dag.payloadOf(task)).toEqual({ sleep: Number(stage.spec.name) });
          }
        }
      }),
    );
  });
});

describe('the limit on running tasks', () => {
  test('counts running tasks, and tasks in flight to a worker', () => {
    const job = jobOf(
      { tasks: { count: 9, run: { sleep: 1 } }, maxRunning: 4 },
      { class: 'long', route: { by: 'central', over: 'all' } },
    );
    job.release(job.stages[0]!, 0);
    expect(job.assignableCount).toBe(4);
    for (const task of [0, 1]) {
      job.tasks.setWorker(task, 1 as Address);
      job.setState(task, TaskState.placed);
    }
    startTasks(job, 2);
    expect(job.assignableCount).toBe(1);
    job.setState(2, TaskState.completed);
    expect(job.assignableCount).toBe(2);
  });
});
