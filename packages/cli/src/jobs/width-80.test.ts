import type { Cluster, ClusterView, JobShare } from '@goshawk/client';
import { cellWidth, painter } from '@goshawk/command';
import * as opening from '@goshawk/command/cluster';
import { afterEach, expect, it, vi } from 'vitest';
import { sharesCommand } from '../commands/shares.js';
import { workersTable } from '../commands/workers.js';
import { jobSummary, recordingContext, taskCounts } from './jobs.fixture.js';
import { jobsTable } from './jobs-table.js';
import { TasksTable } from './tasks-table.js';

/** Painter for an 80-column terminal, without colors. */
const PAINT = painter({ color: false, columns: 80 });
const NOW = Date.UTC(2026, 0, 2, 5, 4, 5);

afterEach(() => vi.restoreAllMocks());

function expectToFit(text: string): void {
  for (const line of text.split('\n')) expect(cellWidth(line), line).toBeLessThanOrEqual(80);
}

it('jobs fit 80 columns, with long names, large counts and deadlines', () => {
  const large = taskCounts({ completed: 987_654, failed: 12_345 });
  const jobs = [
    jobSummary({ name: 'n'.repeat(200), user: 'u'.repeat(60), tasks: large, deadlineMs: 9e6, endedMs: 8e6 }),
    jobSummary({ id: 'abcde-123456', state: 'running', endedMs: undefined, deadlineMs: 9e6, held: true }),
  ];
  expectToFit(jobsTable(jobs, NOW, PAINT));
});

it('tasks fit 80 columns, with long stages, workers and errors', () => {
  const table = { submittedAt: NOW, isStaged: true, isMeasured: true, last: 999_999 };
  const task = {
    ...{ index: 999_999, stage: 's'.repeat(90), state: 'failed', attempt: 12, worker: 'w'.repeat(90) },
    ...{ exitCode: 137, startedMs: 1, runMs: 7e6, maxRssBytes: 3e9, error: 'e'.repeat(300) },
  } as const;
  expectToFit(new TasksTable(table, NOW, PAINT).render([task as never]));
});

it('workers fit 80 columns, with long names and many resources', () => {
  const worker = {
    ...{
      name: 'w'.repeat(90),
      state: 'quarantined',
      partition: 'general',
      slots: 128,
      busy: 128,
      queued: 12_345,
    },
    ...{ capacity: { cpu: 128, memory: 5e11, gpu: 8 }, attributes: { rack: 'r'.repeat(12), zone: 'eu' } },
  };
  expectToFit(workersTable([worker] as unknown as ClusterView['workers'], PAINT));
});

it.each(['job', 'user'] as const)('shares by %s fit 80 columns, without cutting amounts', async (by) => {
  const job: JobShare = {
    ...{ id: 'abcde-123456', user: 'u'.repeat(60), weight: 1, running: 12_345, waiting: 98_765 },
    ...{ has: { cpu: 128, memory: 274_877_906_944, gpu: 8 }, due: { cpu: 64 } },
  };
  const shares = { by: 'user', capacity: { cpu: 512, memory: 1e12, gpu: 16 }, jobs: [job], total: 1 };
  vi.spyOn(opening, 'openCluster').mockResolvedValue({
    shares: async () => shares,
    jobs: async () => ({ jobs: [] }),
    [Symbol.asyncDispose]: async () => {},
  } as unknown as Cluster);
  const { context, written } = recordingContext();
  const none = { words: [], afterDashes: undefined };
  await sharesCommand.run(context, { by, limit: 100, from: 0 }, none, {});
  expectToFit(written.stdout);
  expect(written.stdout).toMatch(/256\s+GiB/);
});
