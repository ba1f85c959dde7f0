import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { percentilesOf, printReport } from './bench-report.js';
import { Folder, note, readOptions } from './script.js';
import { startUp } from './up.js';

/**
 * How long does the client of a job of one task that does nothing wait for its journal? One cluster with its journals in folders and one
 * with theirs in PostgreSQL, on one disk, take a job each in turn; and between them a row is written to that PostgreSQL, over one
 * connection, which is a bare commit.
 */
const WARM_UP = 50;

const options = readOptions({
  rounds: 500,
  policy: 'goshawk',
});

using folder = new Folder('one-at-a-time');
const { initStore, Link, parseJournalUrl } = await inPostgres();
const server = await PostgresServer.start();
const url = await server.createDatabase('jobs');
await initStore(url);
await server.sql('create table rows (body bytea not null)', 'jobs');

async function startCluster(name: string, environment: NodeJS.ProcessEnv) {
  const home = join(folder.path, name);
  const shape = ['--policy', options.policy, '--workers', '8', '--schedulers', '2'];
  const up = await startUp(home, shape, environment);
  const cluster = await connect(up.url);
  const stop = async (): Promise<void> => {
    await cluster.close();
    await up[Symbol.asyncDispose]();
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
for (let round = -WARM_UP; round < options.rounds; round++) {
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
  [`${name}: to its acceptance`, acceptedMs] as const,
  [`${name}: to its end`, endedMs] as const,
]);
printReport(
  'one-at-a-time',
  [...spreads, ['a bare commit', commitMs] as const].flatMap(([name, ms]) =>
    percentilesOf(`${name}, `, 'ms', ms, [50, 90, 99]),
  ),
  options.json,
);
const [groups, jobs] = (
  await server.sql(
    'select sum(written), (select count(distinct (tag, job)) from goshawk.records where job > 0) from goshawk.journals',
    'jobs',
  )
).split('|');
note(`  PostgreSQL: ${groups} commits for ${jobs} jobs`);
await link.close();
for (const { stop } of Object.values(clusters)) await stop();
await server.remove();
