import { RunMeter } from '@goshawk/report';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endedAs, endedJob, plannedJob } from './ended-job.fixture.js';
import { acceptanceOf, jobResult, latenessMs, offeredLoad, predictionOf } from './results.js';

describe('jobResult', () => {
  it("measures from the submission to the notice of the end, by the client's clock", () => {
    const result = jobResult(
      endedJob({
        planned: plannedJob({ tasks: 2, trueMeanMs: 80 }),
        submittedMs: 1_000,
        endedMs: 1_210,
        ended: endedAs({
          endedMs: 200,
          starts: [20, 100],
          runs: [60, 100],
          tasks: { total: 2, waiting: 0, running: 0, completed: 2, failed: 0, cancelled: 0 },
        }),
      }),
      80,
    );
    expect(result).toEqual({
      id: 'tag-1',
      class: 'long',
      outcome: 'completed',
      submitSeconds: 1,
      runtimeSeconds: 0.21,
      taskCount: 2,
      tasksCompleted: 2,
      attempts: 1,
      // The client infers acceptance 5 ms after submission: half of the difference between 200 ms and 210 ms.
      taskStartsSeconds: [1.025, 1.105],
      taskRunSeconds: [0.06, 0.1],
    });
  });

  it("classifies by the true mean regardless of the cluster's estimate", () => {
    const ended = endedAs({ class: 'long' });
    const planned = plannedJob({ trueMeanMs: 79, estimateMs: 200 });
    expect(jobResult(endedJob({ planned, ended }), 80)).toMatchObject({ class: 'short' });
  });

  it.each(['failed', 'cancelled'] as const)(
    'counts a job that was %s as failed, without tasks that never began',
    (state) => {
      const ended = endedAs({
        state,
        starts: [10, -4_000],
        runs: [50, 0],
        tasks: { total: 2, waiting: 0, running: 0, completed: 1, failed: 1, cancelled: 0 },
      });
      const result = jobResult(endedJob({ planned: plannedJob({ tasks: 2 }), ended }), 80);
      expect(result).toMatchObject({
        outcome: 'failed',
        taskCount: 2,
        tasksCompleted: 1,
        taskRunSeconds: [0.05],
      });
      expect(result.taskStartsSeconds).toHaveLength(1);
    },
  );
});

it("acceptance is after submission, and no task ends after the notice of the job's end", () => {
  const ms = fc.double({ min: 0, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(ms, ms, ms, (submittedMs, travelMs, lifeMs) => {
      const endedMs = submittedMs + travelMs + lifeMs;
      const acceptedMs = acceptanceOf(
        endedJob({ submittedMs, endedMs, ended: endedAs({ endedMs: lifeMs }) }),
      );
      expect(acceptedMs).toBeGreaterThanOrEqual(submittedMs);
      expect(acceptedMs + lifeMs).toBeLessThanOrEqual(endedMs * (1 + 1e-9));
    }),
  );
});

it('counts attempts, including lost ones', () => {
  const retried = endedAs({ attempts: { total: 4, failed: 1, lost: 2 } });
  const results = [endedJob(), endedJob({ ended: retried })].map((job) => jobResult(job, 1_000));
  expect(results.map(({ attempts }) => attempts)).toEqual([1, 4]);
});

it('computes the load from actual task times and submissions', () => {
  const jobs = [
    endedJob({ planned: plannedJob({ submitMs: 0 }), ended: endedAs({ runs: [300] }) }),
    endedJob({
      planned: plannedJob({ submitMs: 500, tasks: 2 }),
      submittedMs: 600,
      ended: endedAs({ runs: [200, 50] }),
    }),
  ];
  expect(offeredLoad(jobs, { spanMs: 1_000, totalSlots: 1 })).toBeCloseTo(0.5, 12);
  expect([...latenessMs(jobs)]).toEqual([0, 100]);
});

it('computes the load in CPUs, as the simulator does', () => {
  const durationsSeconds = Float64Array.of(0.1, 0.1, 0.1);
  const stages = [
    { name: 'map', after: [], tasks: 2 },
    { name: 'reduce', after: [0], tasks: 1, demand: { cpu: 0.5 } },
  ];
  const job = { submitSeconds: 0, durationsSeconds, meanSeconds: 0.1, demand: { cpu: 4 }, stages };
  const jobs = [
    endedJob({ planned: plannedJob({ job, tasks: 3 }), ended: endedAs({ runs: [100, 200, 300] }) }),
  ];
  expect(offeredLoad(jobs, { spanMs: 1_000, totalSlots: 10 })).toBeCloseTo((4 * 0.3 + 0.5 * 0.3) / 10, 12);
});

it('reports errors of estimates and the work in misclassified jobs', () => {
  const sampling = { pilotTasks: 2, pilots: [], decidedMs: 30 };
  const jobs = [
    endedJob({
      planned: plannedJob({ trueMeanMs: 100, tasks: 3 }),
      ended: endedAs({
        class: 'long',
        estimateMs: 150,
        sampling,
        starts: [0, 0, 0],
        runs: [100, 100, 100],
      }),
    }),
    endedJob({
      planned: plannedJob({ trueMeanMs: 100 }),
      ended: endedAs({ class: 'short', estimateMs: 90 }),
    }),
  ];
  const meter = new RunMeter({
    policy: 'hawk',
    seed: 1,
    cutoffSeconds: 0.12,
    jobs: 2,
    totalSlots: undefined,
  });
  for (const [place, job] of jobs.entries()) meter.add(place, jobResult(job, 120), predictionOf(job));
  expect(meter.accuracy()).toMatchObject({
    jobsSampled: 1,
    pilotTasks: 2,
    meanAbsoluteErrorPercent: 30,
    misclassifiedPercent: 75,
    decisionSeconds: { count: 1, p50: 0.03 },
  });
});
