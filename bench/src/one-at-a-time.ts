import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { printSpreads } from './bench-report.js';
import { firstLine, GOSHAWK } from './daemons.js';

/**
 * What does a journal cost whoever waits for a job of one task that does nothing? One cluster with its journals in folders and one
 * with theirs in PostgreSQL, on one disk, take a job each in turn; and between them a row is written to that PostgreSQL, over one
 * connection, which is a bare commit.
 */
const WARM_UP = 50;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '500' },
    policy: { type: 'string', default: 'goshawk' },
    json: { type: 'boolean', default: false },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'goshawk-one-at-a-time-'));
const { initStore, Link, parseJournalUrl, PostgresServer } = await inPostgres();
const server = await PostgresServer.start();
const url = await server.createDatabase('jobs');
await initStore(url);
await server.sql('create table rows (body bytea not null)', 'jobs');

async function startCluster(name: string, environment: NodeJS.ProcessEnv) {
  const home = join(folder, name);
  const shape = ['--policy', values.policy, '--workers', '8', '--schedulers', '2'];
  const up = spawn(
    process.execPath,
    [GOSHAWK, 'up', '--json', '--quiet', '--no-secure', '--data-folder', home, ...shape],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, XDG_STATE_HOME: home, ...environment } },
  );
  const gone = once(up, 'exit');
  const told = await firstLine<{ cluster: string }>(up, 'goshawk up', () => 'see above');
  const cluster = await connect(told.cluster);
  const stop = async (): Promise<void> => {
    await cluster[Symbol.asyncDispose]();
    up.kill('SIGINT');
    await gone;
  };
  return { cluster, stop, acceptedMs: [] as number[], endedMs: [] as number[] };
}

const clusters = {
  lmdb: await startCluster('lmdb', {}),
  PostgreSQL: await startCluster('postgres', { GOSHAWK_JOURNAL: url }),
};
const link = new Link(parseJournalUrl(url), 'bare');
const body = Buffer.alloc(300);
const commitMs: number[] = [];
for (let round = -WARM_UP; round < Number(values.rounds); round++) {
  for (const { cluster, acceptedMs, endedMs } of Object.values(clusters)) {
    const began = performance.now();
    const job = await cluster.submit({ name: 'single', tasks: [{ sleep: 0 }] });
    const accepted = performance.now();
    await job.wait();
    if (round < 0) continue;
    acceptedMs.push(accepted - began);
    endedMs.push(performance.now() - began);
  }
  const began = performance.now();
  await link.ask('insert into rows values ($1)', [body], { name: 'row' });
  if (round >= 0) commitMs.push(performance.now() - began);
}
const spreads = Object.entries(clusters).flatMap(([name, { acceptedMs, endedMs }]) => [
  { name: `${name}: to its acceptance`, unit: 'ms', values: acceptedMs },
  { name: `${name}: to its end`, unit: 'ms', values: endedMs },
]);
printSpreads(
  'one-at-a-time',
  [...spreads, { name: 'a bare commit', unit: 'ms', values: commitMs }],
  values.json,
);
const [groups, jobs] = (
  await server.sql(
    'select sum(written), (select count(distinct (tag, job)) from goshawk.records where job > 0) from goshawk.journals',
    'jobs',
  )
).split('|');
process.stderr.write(`  PostgreSQL: ${groups} commits for ${jobs} jobs\n`);
await link.close();
for (const { stop } of Object.values(clusters)) await stop();
await server.remove();
rmSync(folder, { recursive: true, force: true });
