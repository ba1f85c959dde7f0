import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import type { JobSubmission } from '@goshawk/client';
import type { JobDetail } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';

const SLOTS = 4;
const RUN_MS = 800;

const daemons = new TestDaemons('gangs', { beforeEach, afterEach });

/** A central in which SIGUSR2 ends the solver's thread. */
function startCentral(): Promise<Daemon> {
  const preload = new URL('../../dist/faults/end-threads.fixture.js', import.meta.url);
  const environment = { NODE_OPTIONS: `--import ${preload}` };
  const settings = ['cycleMs=200', 'startGrid=0,1,2', 'afterDeadline=abandon'];
  const policy = ['--policy', '3sigma-sched', ...settings.flatMap((each) => ['--set', each])];
  return daemons.startCentral(policy, environment);
}

/** Each task marks when it starts and when it ends, unless it is killed. */
function gang(name: string, tasks: number, more: Partial<JobSubmission> & { exitCode?: number } = {}) {
  const { exitCode = 0, ...fields } = more;
  const mark = (what: string) =>
    `echo ${name} $GOSHAWK_TASK ${what} $(date +%s%3N) >> ${join(daemons.folder, 'marks')}`;
  const script = `${mark('start')}; sleep ${RUN_MS / 1_000}; ${mark('end')}; exit ${exitCode}`;
  const run = { exec: ['sh', '-c', script] };
  return { name, tasks: { count: tasks, run }, estimate: RUN_MS, ...fields } as JobSubmission;
}

interface Mark {
  readonly task: number;
  readonly at: number;
}

function marksOf(name: string, what: 'start' | 'end'): Mark[] {
  const file = join(daemons.folder, 'marks');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines
    .map((line) => line.split(' '))
    .filter(([of, , kind]) => of === name && kind === what)
    .map(([, task, , at]) => ({ task: Number(task), at: Number(at) }))
    .sort((one, other) => one.at - other.at);
}

/** Checks that all tasks of the gang started before any of them could have ended. */
function expectWhole(name: string, tasks: number): void {
  const starts = marksOf(name, 'start');
  expect(starts.length % tasks, `${name}: ${JSON.stringify(starts)}`).toBe(0);
  for (let from = 0; from < starts.length; from += tasks) {
    const together = starts.slice(from, from + tasks);
    expect(new Set(together.map(({ task }) => task)).size).toBe(tasks);
    expect(together.at(-1)!.at - together[0]!.at).toBeLessThan(RUN_MS);
  }
}

test('the solver, central and the scheduler are killed: every gang ends, none runs in part, and the reasons are reported', async () => {
  const central = await startCentral();
  const scheduler = await daemons.startScheduler('s');
  await daemons.startWorkers({ workers: SLOTS, workersPerProcess: SLOTS });
  await using client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(SLOTS);

  // A waiting gang is delayed; best-effort tasks are killed for it or wait.
  const late = { deadline: '1ms' };
  const jobs = [
    gang('best-effort', 4),
    gang('late', 4, late),
    gang('fails', 2, { exitCode: 3 }),
    ...Array.from({ length: 10 }, (_, index) =>
      gang(`g${index}`, 1 + (index % SLOTS), index % 2 === 0 ? { deadline: '1h' } : {}),
    ),
  ];
  const [first, ...others] = jobs;
  const handles = [await client.submit(first!)];
  await expect.poll(() => marksOf('best-effort', 'start')).toHaveLength(4);
  for (const job of others) handles.push(await client.submit(job));
  const ends = handles.map((handle) => handle.wait().catch((error: { job?: JobDetail }) => error.job!));

  await expect
    .poll(
      () => {
        central.signal('SIGUSR2');
        return daemons.logOf('central');
      },
      { interval: 5 },
    )
    .toMatch(/the solver thread exited/);
  await central.kill();
  const successor = await startCentral();
  expect(successor.endpoint).toBe(central.endpoint);
  const started = () => new Set(jobs.filter(({ name }) => marksOf(name!, 'start').length > 0)).size;
  const before = started();
  await expect.poll(started).toBeGreaterThan(before);
  await scheduler.kill();
  await daemons.startScheduler('s');

  const states = new Map((await Promise.all(ends)).map((job) => [job.name, job]));
  for (const { name, tasks } of jobs) {
    const { state, failures } = states.get(name!)!;
    const { count } = tasks as { count: number };
    expectWhole(name!, count);
    if (name === 'late') {
      expect(failures[0]).toMatchObject({ code: 'deadline-missed' });
      expect(marksOf(name, 'start')).toEqual([]);
    } else if (name === 'fails') expect(failures[0]).toMatchObject({ code: 'exit-code', exitCode: 3 });
    else {
      expect(state, name).toBe('completed');
      expect(new Set(marksOf(name!, 'end').map(({ task }) => task)).size).toBe(count);
    }
  }
});
