import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { isPostgresThere, PostgresServer } from '@goshawk/journal/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SharedCluster } from './cluster.js';
import { failovers } from './failover.js';
import { outage } from './outage.js';
import { readSharedJournals } from './results.js';
import { rounds } from './rounds.js';

const isThere = isPostgresThere();

const note = (): void => {};
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-takeover-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.runIf(isThere)('schedulers that share a journal', () => {
  test.each(['killed', 'stopped'] as const)('lose nothing when one of them is %s', async (how) => {
    const server = await PostgresServer.start();
    const url = await server.createDatabase('jobs');
    const shape = { schedulers: 3, workers: 20, workersPerProcess: 10, slots: 3 };
    const cluster = await SharedCluster.start(join(folder, how), url, shape);
    try {
      const report = await rounds({ cluster, rounds: 2, jobs: 12, tasksPerJob: 5, how, note });
      expect(report).toMatchObject({ jobs: 24, notCompleted: [], reruns: 0 });
      expect(report.waits.filter((failure) => failure !== '')).toEqual([]);
      const { accepted, ended, doubled } = await readSharedJournals(url);
      expect(doubled).toEqual([]);
      expect(ended).toEqual(accepted);
      // The operator may request a takeover, too; every owner knows the key of a job.
      await using client = await connect(cluster.url);
      const job = await client.submit({ key: 'once', tasks: [{ sleep: 3_000 }] });
      const owner = (await client.describe()).schedulers.find(({ tag }) => job.id.startsWith(`${tag}-`))!;
      await client.takeOverFrom(owner.name);
      const again = await client.submit({ key: 'once', tasks: [{ sleep: 3_000 }] });
      expect(again.id).toBe(job.id);
      expect((await job.wait()).attempts.total).toBe(1);
    } finally {
      await cluster.stop();
      await server.remove();
    }
  });

  test('lose no job when PostgreSQL fails over to a synchronous standby', async () => {
    const { lost, notCompleted, doubled, accepted } = await failovers(join(folder, 'failover'), 2, note);
    expect({ lost, notCompleted, doubled }).toEqual({ lost: [], notCompleted: [], doubled: [] });
    expect(accepted).toBeGreaterThan(0);
  });

  test('continue running tasks while PostgreSQL is down, and recover when it is back', async () => {
    const report = await outage(join(folder, 'outage'), 8_000, note);
    expect(report).toMatchObject({ lost: [], notCompleted: [], doubled: [], reruns: 0 });
    for (const refusal of report.refusals) expect(refusal).toMatch(/^journal-unavailable: .*does not answer/);
  });
});
