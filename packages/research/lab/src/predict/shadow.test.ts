import { shadowNames } from '@goshawk/command/policy';
import { DEFAULT_POLICY } from '@goshawk/core';
import { Scoreboard, SLEARN_SETTINGS } from '@goshawk/predictor';
import type { SimulatedEnd } from '@goshawk/simulator';
import { jobSpecOf, type TraceJob } from '@goshawk/traces';
import { describe, expect, test } from 'vitest';
import { SimulatedShadow, shadowFor } from './shadow.js';

function job(submitSeconds: number, runSeconds: number): TraceJob {
  return {
    submitSeconds,
    durationsSeconds: Float64Array.of(runSeconds),
    meanSeconds: runSeconds,
    user: 'ada',
  };
}

function ended(index: number, traced: TraceJob, endedMs: number, completed = true): SimulatedEnd {
  const submitMs = traced.submitSeconds * 1_000;
  return {
    index,
    job: { submitMs, spec: jobSpecOf(traced, undefined) },
    endedMs,
    completed,
    tasksCompleted: completed ? 1 : 0,
    attempts: 1,
    judged: { long: false, estimateMs: undefined },
    sampled: undefined,
    startsMs: Float64Array.of(submitMs),
    runsMs: traced.durationsSeconds.map((seconds) => seconds * 1_000),
  };
}

const board = () => new Scoreboard(['history'], { ...SLEARN_SETTINGS, cutoffMs: 10_000 }, 1);

describe('shadow estimators of a simulation', () => {
  test('learn from a job at the time of its end, even if it is reported later', () => {
    const shadow = new SimulatedShadow(board());
    // The second job arrives while the first runs, the third after it; all are reported before any end.
    const jobs = [job(0, 10), job(5, 10), job(20, 10)];
    jobs.forEach((each, index) => {
      shadow.arrived(index, each, each.submitSeconds * 1_000);
    });
    shadow.advance(4_000);
    shadow.ended([ended(1, jobs[1]!, 15_000), ended(0, jobs[0]!, 10_000)]);
    shadow.ended([ended(2, jobs[2]!, 30_000)]);
    const [history] = shadow.results();
    expect(history).toMatchObject({ jobs: 3, estimated: 1, errorPercent: { p90: 0 } });
  });

  test('an end that is reported too early waits for its time', () => {
    const shadow = new SimulatedShadow(board());
    const [first, second] = [job(0, 10), job(12, 10)];
    shadow.arrived(0, first, 0);
    shadow.ended([ended(0, first, 15_000)]);
    shadow.advance(10_000);
    shadow.arrived(1, second, 12_000);
    shadow.advance(14_000);
    shadow.ended([ended(1, second, 22_000)]);
    expect(shadow.results()[0]).toMatchObject({ jobs: 2, estimated: 0 });
  });

  test('a failed job is not scored', () => {
    const shadow = new SimulatedShadow(board());
    const only = job(0, 10);
    shadow.arrived(0, only, 0);
    shadow.ended([ended(0, only, 15_000, false)]);
    expect(shadow.results()[0]).toMatchObject({ jobs: 0 });
  });

  test('are absent by default', () => {
    expect(shadowFor({ policy: DEFAULT_POLICY, seed: 1 }, {})).toBeUndefined();
  });
});

describe('--shadow', () => {
  test('accepts names of estimators', () => {
    expect(shadowNames('pilot, noisy:0.1-1.9')).toEqual(['pilot', 'noisy:0.1-1.9']);
    expect(shadowNames(undefined)).toEqual([]);
  });

  test.each([
    ['moon', 'there is no estimator "moon"'],
    ['pilot,pilot', '--shadow: pilot appears twice'],
    ['', 'there is no estimator ""'],
  ])('"%s" is refused', (text, why) => {
    expect(() => shadowNames(text)).toThrow(why);
  });
});
