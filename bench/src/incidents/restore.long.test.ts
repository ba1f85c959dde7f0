import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runGoshawk } from '@goshawk/cli/testing';
import { inPostgres } from '@goshawk/journal';
import { isPostgresThere, PostgresServer, postgresPrograms } from '@goshawk/journal/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IncidentCluster } from './site.js';

/** The commands of "Backup and restore" in docs/DURABILITY.md, step by step. */

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-restore-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Submits jobs of which some have ended. @returns their ids */
async function submitJobs(site: IncidentCluster): Promise<{ ended: string; running: string[] }> {
  await using client = await site.client();
  const ended = await client.submit({ name: 'ended', tasks: [{ sleep: 1 }] });
  await ended.wait();
  const running: string[] = [];
  for (let i = 0; i < 6; i++)
    running.push((await client.submit({ key: `k${i}`, tasks: [{ sleep: 600_000 }] })).id);
  return { ended: ended.id, running: running.sort() };
}

/** Ids of jobs that have not ended, and the state of the one that had. */
async function restored(site: IncidentCluster, ended: string): Promise<{ running: string[]; ended: string }> {
  await using client = await site.client();
  const { jobs } = await client.jobs();
  const running = jobs.filter(({ state }) => state === 'running' || state === 'waiting');
  return { running: running.map(({ id }) => id).sort(), ended: (await client.job(ended).describe()).state };
}

test.each(['s0', 'r0'])(
  'a folder that is lost is restored from its backup for scheduler %s',
  async (name) => {
    const site = await IncidentCluster.create(join(folder, `local-${name}`));
    try {
      await site.usual();
      const jobs = await submitJobs(site);
      await site.command('journal', 'backup', 's0', 'backup');
      await site.kill('central', 's0', 'w0', 'w1', 'w2');
      rmSync(join(site.folder, 's0'), { recursive: true });

      const [file] = readdirSync(join(site.folder, 'backup'));
      const input = readFileSync(join(site.folder, 'backup', file!));
      const imported = await runGoshawk(['journal', 'import', name], {}, { cwd: site.folder, input });
      expect(imported.exitCode, imported.stderr).toBe(0);
      await site.command('journal', 'verify', name);
      await site.central();
      await Promise.all([site.scheduler(name), site.worker('w0')]);
      await site.joined(1, 1);
      await expect
        .poll(() => restored(site, jobs.ended))
        .toEqual({ running: jobs.running, ended: 'completed' });
    } finally {
      await site.stop();
    }
  },
);

describe.runIf(isPostgresThere())('a dump of PostgreSQL', () => {
  test.each([
    ['the same names', ['s0', 's1']],
    ['another name', ['r0']],
  ] as const)('is restored into another server for schedulers of %s', async (_, names) => {
    const site = await IncidentCluster.create(join(folder, `postgres-${names[0]}`));
    try {
      const servers = [await PostgresServer.start(), await PostgresServer.start()] as const;
      for (const server of servers) site.finally(() => server.remove());
      const [from, to] = [await servers[0].createDatabase('jobs'), await servers[1].createDatabase('jobs')];
      await (await inPostgres()).initStore(from);
      const start = async (url: string, schedulers: readonly string[]): Promise<void> => {
        const env = { GOSHAWK_JOURNAL: url };
        await site.central();
        await Promise.all([site.worker('w0'), ...schedulers.map((name) => site.scheduler(name, { env }))]);
        await site.joined(1, schedulers.length);
      };
      await start(from, ['s0', 's1']);
      const jobs = await submitJobs(site);
      const dump = join(site.folder, 'goshawk.dump');
      const programs = postgresPrograms()!;
      execFileSync(join(programs, 'pg_dump'), ['--format=custom', '--schema=goshawk', '-f', dump, from]);
      await site.kill('central', 's0', 's1', 'w0');
      execFileSync(join(programs, 'pg_restore'), ['--dbname', to, dump]);
      await site.command('journal', 'init', to);
      await start(to, names);
      const owners = () => runGoshawk(['journal', 'owners', to], {}, { cwd: site.folder });
      if (names.length === 1) {
        await expect.poll(async () => (await owners()).stdout).toMatch(/without an owner/);
        await expect
          .poll(async () => JSON.parse(await site.command('takeover', '--all', '--json')).schedulers)
          .toBe(2);
      }
      await expect.poll(async () => (await owners()).exitCode).toBe(0);
      await expect
        .poll(() => restored(site, jobs.ended))
        .toEqual({ running: jobs.running, ended: 'completed' });
    } finally {
      await site.stop();
    }
  });
});
