import { countTasks, NO_RESOURCES, parseJobSpec } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryJob } from './job.fixture.js';
import { jobOf, type TraceJob } from './job.js';
import { columnBlocks, jobInputOf, jobSpecOf } from './job-spec.js';

const staged: TraceJob = {
  ...jobOf(0, Float64Array.of(1, 2, 3)),
  demand: { cpu: 1 },
  stages: [
    { name: 'map', after: [], tasks: 2 },
    { name: 'reduce', after: [0, 0], tasks: 1, demand: { memory: 1024, gpu: 0 } },
  ],
};

describe('jobSpecOf', () => {
  it('creates sleep tasks for a job with few fields', () => {
    expect(jobSpecOf(jobOf(5, Float64Array.of(1.5, 2)), 1_750)).toEqual({
      name: 'job',
      user: undefined,
      stages: [
        {
          name: 'tasks',
          after: [],
          tasks: { sleepsMs: Float64Array.of(1_500, 2_000) },
          demand: NO_RESOURCES,
        },
      ],
      estimateMs: 1_750,
      retries: 0,
      timeoutMs: undefined,
      maxRunning: undefined,
      deadlineMs: undefined,
      weight: 1,
    });
  });

  it('keeps all features that a cluster supports, with times in ms', () => {
    const spec = jobSpecOf(
      {
        ...jobOf(0, Float64Array.of(1)),
        ...{ name: 'sort', user: 'ann', weight: 2, retries: 3, maxRunning: 4 },
        ...{ timeoutSeconds: 60, deadlineSeconds: 3_600, demand: { cpu: 2 } },
      },
      900,
    );
    expect(spec).toMatchObject({
      ...{ name: 'sort', user: 'ann', weight: 2, retries: 3, maxRunning: 4 },
      ...{ timeoutMs: 60_000, deadlineMs: 3_600_000, estimateMs: 900 },
    });
    expect(spec.stages[0]!.demand).toEqual({ cpu: 2 });
  });

  it('creates stages with their tasks, predecessors and demands', () => {
    expect(jobSpecOf(staged, 1).stages).toEqual([
      { name: 'map', after: [], tasks: { sleepsMs: Float64Array.of(1_000, 2_000) }, demand: { cpu: 1 } },
      {
        name: 'reduce',
        after: [0],
        tasks: { sleepsMs: Float64Array.of(3_000) },
        demand: { cpu: 1, memory: 1024 },
      },
    ]);
  });

  it('rounds demands down as job files do, so that three thirds of a GPU fit', () => {
    const third = { ...jobOf(0, Float64Array.of(1, 1, 1)), demand: { gpu: 1 / 3 } };
    expect(jobSpecOf(third, 1).stages[0]!.demand).toEqual({ gpu: 0.333 });
  });

  it('shares one object among all jobs without demands', () => {
    const idle = { ...jobOf(0, Float64Array.of(1)), demand: { cpu: 0 } };
    expect(jobSpecOf(idle, 1).stages[0]!.demand).toBe(NO_RESOURCES);
  });
});

it('a submitted job equals the simulated one', () => {
  fc.assert(
    fc.property(arbitraryJob, fc.double({ min: 0, max: 1e9, noNaN: true }), (job, estimateMs) => {
      const spec = jobSpecOf(job, estimateMs);
      const submitted = parseJobSpec(jobInputOf(spec));
      expect(submitted).toEqual({
        ...spec,
        stages: spec.stages.map(({ tasks, ...stage }) => ({
          ...stage,
          tasks: { each: 'sleepsMs' in tasks ? Array.from(tasks.sleepsMs, (sleep) => ({ sleep })) : [] },
        })),
      });
      expect(spec.stages.reduce((sum, { tasks }) => sum + countTasks(tasks), 0)).toBe(
        job.durationsSeconds.length,
      );
    }),
  );
});
it('allocates columns of zeros in shared memory without overlap', () => {
  const columns = columnBlocks();
  const lengths = [3, 5_000, 0, 4_000, 20_000, 2];
  const taken = lengths.map((length) => columns(length));
  expect(taken.map(({ length }) => length)).toEqual(lengths);
  expect(taken.every((column) => column.every((value) => value === 0))).toBe(true);
  for (const [place, column] of taken.entries()) column.fill(place + 1);
  expect(taken.every((column, place) => column.every((value) => value === place + 1))).toBe(true);
  expect(taken[1]!.buffer).toBe(taken[0]!.buffer);
});
