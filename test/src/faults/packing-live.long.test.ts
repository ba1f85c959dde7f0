import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, TestDaemons, WITH_HTTP } from '@goshawk/cli/testing';
import type { Cluster } from '@goshawk/client';
import { Random } from '@goshawk/core';
import { PACKING_NAMES } from '@goshawk/papers';
import { afterEach, beforeEach, expect, test } from 'vitest';

const GIB = 2 ** 30;
const CPUS = 4;
const MEMORY = 8 * GIB;

const daemons = new TestDaemons('packing-live', { beforeEach, afterEach });

function worker(name: string): Promise<Daemon> {
  const has = ['--cpus', `${CPUS}`, '--memory', `${MEMORY}`];
  // Tasks inherit PATH, which starts with the name of their worker.
  const environment = { PATH: `${name}:${process.env.PATH}` };
  return daemons.startWorker(name, [...WITH_HTTP, ...has], environment);
}

/** Returns the marks that tasks have written, in order. */
function marks() {
  const file = join(daemons.folder, 'marks');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [what, at, cpu, memory] = line.split(' ');
    return { what, at: at!, cpu: Number(cpu), memory: Number(memory) };
  });
}

function startsAt(name: string): number {
  return marks().filter(({ what, at }) => what === 'start' && at === name).length;
}

/** Workers on which tasks have started, those with most tasks first. */
function busiest(): string[] {
  const names = new Set(marks().map(({ at }) => at));
  return [...names].sort((one, other) => startsAt(other) - startsAt(one));
}

/**
 * @returns the maximum number of concurrent tasks on any worker
 * @throws Error if tasks exceed a worker's capacity
 */
function judge(): number {
  const used = new Map<string, { tasks: number; cpu: number; memory: number }>();
  let most = 0;
  for (const { what, at, cpu, memory } of marks()) {
    const sign = what === 'start' ? 1 : -1;
    const before = used.get(at) ?? { tasks: 0, cpu: 0, memory: 0 };
    const now = {
      tasks: before.tasks + sign,
      cpu: before.cpu + sign * cpu,
      memory: before.memory + sign * memory,
    };
    used.set(at, now);
    most = Math.max(most, now.tasks);
    expect(now.cpu, `cpus of ${at}`).toBeLessThanOrEqual(CPUS);
    expect(now.memory, `memory of ${at}`).toBeLessThanOrEqual(MEMORY);
  }
  return most;
}

const TASKS = 4;

/** Tasks that record when and where they run and what they request, and that end when the gate is open. */
function submit(client: Cluster, random: Random, gate: string) {
  const cpu = [0.5, 1, 1.5, 2, 3, 4][Math.floor(random.next() * 6)]!;
  const memory = [0.25, 1, 2, 3, 5, 8][Math.floor(random.next() * 6)]! * GIB;
  const mark = (what: string) =>
    `echo ${what} \${PATH%%:*} ${cpu} ${memory} >> ${join(daemons.folder, 'marks')}`;
  const script = `${mark('start')}; until [ -e ${gate} ]; do sleep 0.1; done; ${mark('end')}`;
  return client.submit({
    tasks: { count: TASKS, run: { exec: ['sh', '-c', script] } },
    demand: { cpu, memory },
  });
}

function workersOf(client: Cluster) {
  return async () => (await client.describe()).workers;
}

async function declinedBy(name: string): Promise<number> {
  const page = await (await fetch(`${await daemons.httpAddressOf(name)}/metrics`)).text();
  return Number(/^goshawk_worker_declined_total (\d+)/m.exec(page)?.[1]);
}

test.each(PACKING_NAMES)(
  '%s never overcommits a worker while workers join, leave and decline tasks',
  async (policy) => {
    const random = Random.seeded(`live ${policy}`);
    await daemons.startCentral(['--policy', policy]);
    const s = await daemons.startScheduler('s');
    const names = Array.from({ length: 10 }, (_, at) => `w${at}`);
    const processes = await Promise.all(names.map(worker));
    await using client = await daemons.connect();
    const workers = workersOf(client);
    await expect.poll(workers).toHaveLength(10);
    for (const { slots, capacity } of await workers())
      expect({ slots, capacity }).toEqual({ slots: CPUS, capacity: { cpu: CPUS, memory: MEMORY } });
    // A task that requests nothing takes one CPU.
    expect(await (await client.submit({ tasks: [{ exec: ['true'] }] })).wait()).toMatchObject({
      state: 'completed',
    });

    const gates = [join(daemons.folder, 'first'), join(daemons.folder, 'second')] as const;
    const jobs = await Promise.all(Array.from({ length: 40 }, () => submit(client, random, gates[0])));
    const started = () => marks().filter(({ what }) => what === 'start').length;
    const unmatched = async () => (await client.waiting()).central?.unmatched ?? 0;
    // All workers are full, central knows of the tasks that wait, and none ends meanwhile.
    await expect.poll(async () => started() + (await unmatched())).toBe(TASKS * jobs.length);
    await expect.poll(async () => (await workers()).every(({ busy }) => busy > 0)).toBe(true);
    const [leaving, lost] = busiest() as [string, string];

    // Matches that central makes meanwhile reach their owner after the worker has begun to drain, which refuses them.
    s.signal('SIGSTOP');
    writeFileSync(gates[0], '');
    await expect.poll(async () => (await workers()).every(({ busy }) => busy === 0)).toBe(true);
    await client.drain(leaving);
    const startsBefore = startsAt(leaving);
    s.signal('SIGCONT');
    await expect.poll(() => declinedBy(leaving)).toBeGreaterThan(0);
    expect(startsAt(leaving)).toBe(startsBefore);

    const startsAtLost = startsAt(lost);
    jobs.push(...(await Promise.all(Array.from({ length: 40 }, () => submit(client, random, gates[1])))));
    await expect.poll(() => startsAt(lost)).toBeGreaterThan(startsAtLost);
    await processes[names.indexOf(lost)]!.kill();
    await expect.poll(workers).toHaveLength(9);
    const ofLost = startsAt(lost);
    // More tasks wait than all workers can run, so a worker that joins or returns is used.
    await worker('w10');
    await expect.poll(() => startsAt('w10')).toBeGreaterThan(0);
    await client.drain(leaving, false);
    await expect.poll(() => startsAt(leaving)).toBeGreaterThan(startsBefore);
    writeFileSync(gates[1], '');

    for (const job of jobs) expect((await job.wait()).state).toBe('completed');
    expect(startsAt(lost)).toBe(ofLost);
    expect(marks().filter(({ what }) => what === 'end').length).toBeGreaterThanOrEqual(4 * jobs.length);
    expect(judge()).toBeGreaterThan(1);
  },
);
