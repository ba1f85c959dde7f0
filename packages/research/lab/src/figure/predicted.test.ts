import type { TraceJob } from '@goshawk/traces';
import { describe, expect, test } from 'vitest';
import { trainingJobsOf } from '../predict/past.js';
import { extract } from './extract.js';
import { Predictors, TASKS_MAX } from './predicted.js';

function job(index: number, durations: readonly number[], more: Partial<TraceJob> = {}): TraceJob {
  const meanSeconds = durations.reduce((sum, each) => sum + each, 0) / durations.length;
  return { submitSeconds: 10 * index, durationsSeconds: Float64Array.from(durations), meanSeconds, ...more };
}

/** Returns jobs of one kind, whose tasks all have this run time. */
const alike = (count: number, tasks: number, seconds: number, more: Partial<TraceJob> = {}) =>
  Array.from({ length: count }, (_, index) => job(index, new Array<number>(tasks).fill(seconds), more));

describe('the jobs of a predicted figure', () => {
  test('are from the later half with at most 150 tasks, and the earlier half is the past', () => {
    const jobs = [...alike(10, 4, 5), job(20, new Array<number>(151).fill(5))];
    const { past, jobs: later } = extract(jobs, undefined, TASKS_MAX);
    expect(past).toHaveLength(5);
    expect(later.map(({ submitSeconds }) => submitSeconds)).toEqual([50, 60, 70, 80, 90]);
  });

  test('are all jobs with known users if the past is a separate file', () => {
    const past = trainingJobsOf([
      { submitSeconds: 0, endSeconds: 50, runSeconds: 40, tasks: 1, user: 'ada' },
      { submitSeconds: 60, endSeconds: 90, runSeconds: 30, tasks: 1 },
    ]);
    // The workload begins when the last past job has ended.
    expect(past.map(({ job: { submittedAt } }) => submittedAt)).toEqual([-90_000, -30_000]);
    const extracted = extract([job(0, [1]), job(1, [1], { user: 'ada' })], past, TASKS_MAX);
    expect(extracted.past).toBe(past);
    expect(extracted.jobs).toHaveLength(1);
  });
});

describe('predictions of a figure', () => {
  test('pilots predict jobs with similar tasks, and history predicts recurring jobs', () => {
    const { past, jobs } = extract(alike(40, 4, 5, { user: 'ada' }), undefined, TASKS_MAX);
    const errors = new Predictors(past).draw(jobs, 1);
    expect(errors.pilot).toHaveLength(20);
    for (const all of Object.values(errors)) {
      expect(all).toHaveLength(20);
      for (const error of all) expect(error).toBeCloseTo(0, 6);
    }
  });

  test('history is wrong if jobs change, and pilots are not', () => {
    const jobs = [...alike(20, 4, 5, { user: 'ada' }), ...alike(20, 4, 50, { user: 'ada' })];
    const errors = new Predictors(extract(jobs, undefined, TASKS_MAX).past).draw(jobs.slice(20), 1);
    expect(errors.history[0]).toBeCloseTo(0.9, 6);
    expect(errors['3sigma'][0]).toBeCloseTo(0.9, 6);
    expect(Math.max(...errors.pilot)).toBeCloseTo(0, 9);
    // Estimators learn from ended jobs.
    expect(errors.history.at(-1)).toBeLessThan(0.1);
  });

  test('jobs of one and two tasks are learned from but not predicted', () => {
    const { past, jobs } = extract(alike(20, 2, 5), undefined, TASKS_MAX);
    expect(new Predictors(past).draw(jobs, 1).pilot).toEqual([]);
  });

  test('a seed always draws the same jobs and pilots, and another seed draws others', () => {
    const jobs = Array.from({ length: 4_000 }, (_, i) => job(i, [1 + (i % 7), 2 + (i % 5), 3 + (i % 3)]));
    const { past, jobs: later } = extract(jobs, undefined, TASKS_MAX);
    const predictors = new Predictors(past);
    expect(predictors.draw(later, 1)).toEqual(predictors.draw(later, 1));
    expect(predictors.draw(later, 1).pilot).toHaveLength(1_250);
    expect(predictors.draw(later, 1)).not.toEqual(predictors.draw(later, 2));
  });
});
