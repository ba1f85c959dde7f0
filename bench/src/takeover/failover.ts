import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '@goshawk/core';
import { PostgresServer } from '@goshawk/journal/testing';
import { until } from '../daemons.js';
import { SharedCluster } from './cluster.js';
import { Load } from './load.js';
import { readSharedJournals } from './results.js';

interface FailoverReport {
  readonly accepted: number;
  /** Accepted jobs that are missing at the standby. */
  readonly lost: readonly string[];
  readonly notCompleted: readonly string[];
  readonly doubled: readonly string[];
  /** The longest time after the kill of a primary in which no job was accepted, in ms. */
  readonly gapMs: readonly Millis[];
}

const LANES = 16;

/**
 * Repeatedly kills a primary with a synchronous standby under submissions and promotes the standby. Each promoted
 * standby gets a new standby in the place of the killed primary.
 */
export async function failovers(
  folder: string,
  rounds: number,
  note: (line: string) => void,
): Promise<FailoverReport> {
  let primary = await PostgresServer.start();
  let standby = await primary.standby();
  const servers = new Set([primary, standby]);
  await primary.createDatabase('jobs');
  await mustWait(primary);
  const url = primary.url('jobs', [standby]);
  const cluster = await SharedCluster.start(folder, url, {
    ...{ schedulers: 2, workers: 20, workersPerProcess: 20, slots: 2 },
  });
  const gapMs: Millis[] = [];
  const load = await Load.begin(cluster.url, LANES);
  try {
    for (let round = 0; round < rounds; round++) {
      await pause(1_000 + Math.random() * 1_000);
      const killedAt = performance.now();
      primary.kill();
      await standby.promote();
      const promotedMs = performance.now() - killedAt;
      await standby.sql('alter system reset synchronous_standby_names');
      await standby.sql('select pg_reload_conf()');
      const before = load.accepted.length;
      await until(() => load.accepted.length >= before + 2 * LANES, 20);
      gapMs.push(load.longestGapMs(killedAt));
      note(
        `failover ${round + 1}: no job was accepted for ${gapMs.at(-1)!.toFixed(0)} ms, the standby was promoted after ${promotedMs.toFixed(0)} ms`,
      );
      const { port } = primary;
      await primary.remove();
      servers.delete(primary);
      primary = standby;
      standby = await primary.standby({}, port);
      servers.add(standby);
      await mustWait(primary);
    }
    await load.stop();
    const notCompleted = await load.outcomes();
    const { accepted, doubled } = await readSharedJournals(url);
    const lost = load.accepted.filter(({ id }) => !accepted.has(id)).map(({ id }) => id);
    return { accepted: load.accepted.length, lost, notCompleted, doubled, gapMs };
  } finally {
    await load.stop().catch(() => {});
    await load.client.close();
    await cluster.stop();
    for (const server of servers) await server.remove();
  }
}

/** Makes each later commit wait for the standby. */
async function mustWait(primary: { sql(statement: string): Promise<string> }): Promise<void> {
  const some = (where: string) => async () =>
    (await primary.sql(`select count(*) from pg_stat_replication where ${where}`)) !== '0';
  await until(some(`state = 'streaming'`));
  await primary.sql(`alter system set synchronous_standby_names = '*'`);
  await primary.sql('select pg_reload_conf()');
  await until(some(`sync_state = 'sync'`));
}
