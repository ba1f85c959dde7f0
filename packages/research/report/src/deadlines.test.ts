import { expect, test } from 'vitest';
import { buildComparison } from './compare.js';
import { renderDeadlines } from './deadlines.js';
import { buildRun, job, measurements } from './sample-runs.fixture.js';

const met = job({ id: 'met', deadlineSeconds: 3, waitSeconds: 1, runSeconds: 2, taskCount: 2 });
const late = job({ id: 'late', deadlineSeconds: 2.5, waitSeconds: 1, runSeconds: 2 });
const failed = job({
  id: 'failed',
  outcome: 'failed',
  deadlineSeconds: 9,
  taskStartsSeconds: [],
  taskRunSeconds: [],
});
const bestEffort = job({ id: 'other', waitSeconds: 0, runSeconds: 1.5 });
/** The last submitted job: its work is not counted, since it ends after the last submission. */
const last = job({ id: 'last', submitSeconds: 3, waitSeconds: 1, runSeconds: 5 });

test('misses and goodput up to the last submission are counted', () => {
  const { run } = buildRun(measurements([met, late, failed, bestEffort, last]));
  expect(run.deadlines).toEqual({
    jobs: 3,
    missed: 2,
    goodputSlotSeconds: { deadline: 6, bestEffort: 1.5 },
    bestEffortJobs: 2,
    bestEffortCompleted: 2,
    bestEffortSeconds: 3.75,
  });
});

test('a run without deadlines has no deadline results', () => {
  const { run } = buildRun(measurements([bestEffort]));
  expect(run).not.toHaveProperty('deadlines');
  expect(renderDeadlines([run])).toBe('');
});

test('a terminal shows a table of deadlines and planning', () => {
  const spread = { count: 2, p50: 0.01, p99: 0.02, max: 0.5 };
  const planning = {
    counts: { cycles: 7, greedy: 1, preemptions: 3 },
    cycleSeconds: { formulate: spread, solve: spread, extract: spread, cycle: spread },
  };
  const { run } = buildRun(measurements([met, late, last], { planning }));
  const cluster = { workers: 4, slots: 1, schedulers: 1, mode: 'live' } as const;
  const workload = { name: 'w', sha256: '', jobs: 3, tasks: 4, taskSeconds: 9, spanSeconds: 3 };
  const comparison = buildComparison({ workload, cluster, runs: [run] });
  const [head, row] = renderDeadlines(comparison.runs).split('\n');
  expect(head).toMatch(/^policy +missed +of jobs +goodput, h/);
  expect(row).toMatch(/^hawk +50\.0% +2 .* 3 +7 +10 ms \/ 20 ms \/ 500 ms +1$/);
});
