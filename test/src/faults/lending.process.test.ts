import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { drawTo, type ProcessStat, parseProcessStat, Random } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';

const daemons = new TestDaemons('lending', { beforeEach, afterEach });

const POLICY = ['--policy', 'goshawk', '--estimator', 'given', '--cutoff', '10s'];
/** Short tasks of a round, each of which borrows a CPU. */
const SHORT = 25;
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** Processes of the tasks of this test, by a variable in their environment. */
function processesOf(kind: 'long' | 'short'): (ProcessStat & { readonly pid: number })[] {
  const mark = `LENDING_TEST=${kind} ${daemons.folder}\0`;
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark)) return [];
      return [{ pid: Number(name), ...parseProcessStat(readFileSync(`/proc/${name}/stat`, 'latin1')) }];
    } catch {
      return []; // it has ended
    }
  });
}

function stopped(): number {
  return [...processesOf('long'), ...processesOf('short')].filter(({ state }) => state === 'T').length;
}

/** A command that runs a loop, which needs a whole CPU, until the file exists. */
function burnUntil(file: string, kind: 'long' | 'short') {
  const exec = ['sh', '-c', `until [ -e ${file} ]; do :; done`];
  return { exec, cwd: daemons.folder, env: { LENDING_TEST: `${kind} ${daemons.folder}` } };
}

/** Resolves once each of two long tasks has used processor time. */
async function bothGoOn(): Promise<void> {
  await expect.poll(() => processesOf('long').length).toBe(2);
  const before = new Map(processesOf('long').map(({ pid, processorTicks }) => [pid, processorTicks]));
  const areAhead = () =>
    processesOf('long').filter(({ pid, processorTicks }) => processorTicks > (before.get(pid) ?? Infinity));
  await expect.poll(() => areAhead().length).toBe(2);
}

test('tasks that lend their CPUs go on after any process is killed, and none stays stopped', async () => {
  console.info(`SEED=${SEED}`);
  let central = await daemons.startCentral(POLICY);
  let scheduler = await daemons.startScheduler('s0');
  const startWorker = (): Promise<Daemon> => daemons.startWorker('w0', ['--cpus', '2']);
  let worker = await startWorker();
  await using client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(1);
  const faults: Record<string, () => Promise<unknown>> = {
    none: async () => {},
    borrower: async () => {
      for (const { pid } of processesOf('short')) process.kill(pid, 'SIGKILL');
    },
    worker: async () => {
      await worker.kill();
      worker = await startWorker();
    },
    scheduler: async () => {
      await scheduler.kill();
      scheduler = await daemons.startScheduler('s0');
    },
    central: async () => {
      await central.kill();
      central = await daemons.startCentral(POLICY);
    },
  };
  const long = await client.submit({
    ...{ name: 'long', estimate: '1h' },
    tasks: { count: 2, run: burnUntil('go', 'long') },
  });
  const names = Object.keys(faults);
  const draws = Random.seeded(SEED);
  const random = { random: () => draws.next() };
  let loans = 0;
  for (let at = 0; at < names.length; at++) {
    const fault = drawTo(at, names, random);
    await bothGoOn();
    const batch = await client.submit({
      ...{ name: 'batch', estimate: '100ms', retries: 3 },
      tasks: { count: SHORT, run: { exec: ['sleep', '0.05'] } },
    });
    // No CPU is free, so each of them borrows one.
    expect(await batch.wait()).toMatchObject({ state: 'completed' });
    const { attemptList } = await batch.describe();
    const borrowed = attemptList.filter(({ borrowedFrom = [] }) => borrowedFrom.length === 1);
    expect(borrowed).toHaveLength(SHORT);
    loans += borrowed.length;

    const held = await client.submit({
      ...{ name: 'held', estimate: '1s', retries: 1 },
      tasks: [burnUntil(`end-${fault}`, 'short')],
    });
    await expect.poll(stopped, { interval: 20 }).toBeGreaterThan(0);
    await faults[fault]!();
    writeFileSync(join(daemons.folder, `end-${fault}`), '');
    expect(await held.wait(), fault).toMatchObject({ state: 'completed' });
    await expect.poll(stopped, { interval: 20, message: fault }).toBe(0);
    await bothGoOn();
    loans++;
  }
  console.info(`${loans} loans`);
  daemons.letGo();
  expect(await long.wait()).toMatchObject({ state: 'completed' });
  expect([...processesOf('long'), ...processesOf('short')]).toEqual([]);
});
