import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { drawTo, type ProcessStat, parseProcessStat, Random } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';

const daemons = new TestDaemons('lending', { beforeEach, afterEach });

const POLICY = ['--policy', 'goshawk', '--estimator', 'given', '--cutoff', '10s'];
/** Short tasks of a round, each of which borrows a CPU. */
const SHORT = 25;
/** CPUs, all of which long tasks use, loans, and short tasks of a round, in the test of many loans. */
const CPUS = 4;
const LOANS = 1_000;
const BATCH = 100;
const MAX_ROUNDS = 30;
const GOSHAWK = join(import.meta.dirname, '../../../packages/cli/bin/goshawk.js');
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

/** A cluster with one worker, and what may happen to it. */
async function startCluster(cpus: number) {
  let central = await daemons.startCentral(POLICY);
  let scheduler = await daemons.startScheduler('s0');
  const startWorker = (): Promise<Daemon> => daemons.startWorker('w0', ['--cpus', `${cpus}`]);
  let worker = await startWorker();
  const client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(1);
  const faults: Record<string, () => Promise<unknown>> = {
    none: async () => {},
    borrower: async () => {
      for (const { pid } of processesOf('short')) killIfThere(pid);
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
  return { client, faults };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

test('tasks that lend their CPUs go on after any process is killed, and none stays stopped', async () => {
  console.info(`SEED=${SEED}`);
  const cluster = await startCluster(2);
  await using client = cluster.client;
  const { faults } = cluster;
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

test('a thousand loans leave no stopped process, and each task ends right, whatever is killed meanwhile', async () => {
  console.info(`SEED=${SEED}`);
  const cluster = await startCluster(CPUS);
  await using client = cluster.client;
  const draws = Random.seeded(SEED);
  const random = { random: () => draws.next() };
  const waits = ['sh', '-c', 'until [ -e go ]; do sleep 0.2; done'];
  const long = await client.submit({
    ...{ name: 'long', estimate: '1h' },
    tasks: { count: CPUS, run: { ...burnUntil('go', 'long'), exec: waits } },
  });
  const kinds = Object.keys(cluster.faults).filter((kind) => kind !== 'worker');
  const drawn = [...kinds, ...kinds];
  const used: string[] = [];
  let loans = 0;
  const runRound = async (fault: string): Promise<void> => {
    await expect.poll(async () => (await long.describe()).tasks.running).toBe(CPUS);
    const batch = await client.submit({
      ...{ name: `batch ${used.length}`, estimate: '100ms', retries: 9 },
      tasks: { count: BATCH, run: { ...burnUntil('', 'short'), exec: ['sleep', '0.02'] } },
    });
    const from = Math.floor(draws.next() * BATCH);
    const hasCome = async () => {
      const { tasks, state } = await batch.describe();
      return tasks.completed >= from && (fault !== 'borrower' || state !== 'running' || stopped() > 0);
    };
    await expect.poll(hasCome, { interval: 20 }).toBe(true);
    await cluster.faults[fault]!();
    used.push(`${fault} after ${from}`);
    expect(await batch.wait(), used.join(', ')).toMatchObject({ state: 'completed' });
    const { attemptList, tasks } = await batch.describe();
    expect(tasks, used.join(', ')).toMatchObject({ total: BATCH, completed: BATCH });
    loans += attemptList.filter(({ borrowedFrom = [] }) => borrowedFrom.length === 1).length;
    await expect.poll(stopped, { interval: 20, message: used.join(', ') }).toBe(0);
  };
  for (let round = 0; loans < LOANS; round++) {
    expect(round, used.join(', ')).toBeLessThan(MAX_ROUNDS);
    if (round < drawn.length) drawTo(round, drawn, random);
    await runRound(drawn[round] ?? 'none');
  }
  // Last, because tasks of lost workers run one at a time afterwards.
  await runRound('worker');
  console.info(`${loans} loans; ${used.join(', ')}`);
  daemons.letGo();
  expect(await long.wait()).toMatchObject({ state: 'completed' });
  expect([...processesOf('long'), ...processesOf('short')]).toEqual([]);
});

test('a task and the job that it waits for go on, on one CPU, after any process is killed', async () => {
  console.info(`SEED=${SEED}`);
  const cluster = await startCluster(1);
  await using client = cluster.client;
  const parent = async () => {
    for (const { pid } of processesOf('long')) killIfThere(pid);
  };
  const faults: typeof cluster.faults = { ...cluster.faults, parent };
  const names = Object.keys(faults);
  const draws = Random.seeded(SEED);
  for (let at = 0; at < names.length; at++) {
    const fault = drawTo(at, names, { random: () => draws.next() });
    const child = `exec env "LENDING_TEST=short ${daemons.folder}" sh -c "until [ -e go-${fault} ]; do sleep 0.1; done"`;
    const exec = ['submit', '--wait', '--cluster', daemons.url, '--retries', '1', '--', 'sh', '-c', child];
    const job = await client.submit({
      ...{ name: fault, retries: 1 },
      tasks: [{ ...burnUntil('', 'long'), exec: [process.execPath, GOSHAWK, ...exec] }],
    });
    await expect.poll(() => processesOf('short').length, { message: fault }).toBeGreaterThan(0);
    // The parent is not stopped: it has to read the result.
    expect(processesOf('long').filter(({ state }) => state === 'T')).toEqual([]);
    await faults[fault]!();
    writeFileSync(join(daemons.folder, `go-${fault}`), '');
    expect(await job.wait(), fault).toMatchObject({ state: 'completed' });
    const left = () => [...processesOf('long'), ...processesOf('short')];
    await expect.poll(left, { message: fault }).toEqual([]);
  }
});
