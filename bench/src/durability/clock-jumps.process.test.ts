import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { beforeEach, expect, test } from 'vitest';
import type { Daemon } from '../daemons.js';
import { TestDaemons } from './test-daemons.fixture.js';

/** Debian's package `faketime` has it: it sets the clock of a process, by a file, while that runs. */
const LIBRARY = readdirSync('/usr/lib')
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find(existsSync);

const daemons = new TestDaemons('clock');
beforeEach(() => setClock('+0'));

const clock = (): string => join(daemons.folder, 'clock');

/** Of all daemons at once, by so much beside the right time. */
function setClock(offset: string): void {
  writeFileSync(`${clock()}.new`, offset);
  renameSync(`${clock()}.new`, clock());
}

function start(name: string, ...args: string[]): Promise<Daemon> {
  const environment = {
    ...process.env,
    LD_PRELOAD: LIBRARY,
    FAKETIME_TIMESTAMP_FILE: clock(),
    FAKETIME_NO_CACHE: '1',
    // As on a machine whose clock is set: only the wall clock jumps.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  return daemons.start(name, args, environment);
}

const logOf = (name: string): string => readFileSync(join(daemons.folder, 'logs', `${name}.log`), 'utf8');

const lines = (): string[] => {
  const file = join(daemons.folder, 'lines');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').sort() : [];
};

test.skipIf(LIBRARY === undefined)(
  'clocks that jump a day forward and two back lose no worker, no job, no key, and run nothing twice (only with libfaketime)',
  async () => {
    const central = await start('central', 'central', '--bind', 'tcp://127.0.0.1:0');
    const at = ['--central-url', central.endpoint];
    const startScheduler = () =>
      start(
        's',
        'scheduler',
        '--name',
        's',
        '--keep-jobs',
        '1',
        '--data-folder',
        join(daemons.folder, 's'),
        ...at,
      );
    let scheduler = await startScheduler();
    await start(
      'w',
      'worker',
      '--name',
      'w',
      '--slots',
      '4',
      '--data-folder',
      join(daemons.folder, 'w'),
      ...at,
    );
    await using client = await connect(central.endpoint, { requestTimeoutMs: 60_000, renewMs: 500 });
    const run = ['sh', '-c', 'echo $GOSHAWK_TASK >> lines; until [ -e go ]; do sleep 0.1; done'];
    const held = await client.submit({
      timeout: '1h',
      tasks: { count: 2, run: { exec: run, cwd: daemons.folder } },
    });
    await expect.poll(lines).toEqual(['0', '1']);
    const keyed: string[] = [];
    const submitKeyed = async (key: string) => {
      const job = await client.submit({ key, tasks: [{ sleep: 1 }] });
      expect((await job.wait()).state).toBe('completed');
      return job.id;
    };
    keyed.push(await submitKeyed('k0'));
    for (const [offset, said] of [
      ['+1d', /set forward/],
      ['-1d', /set back/],
    ] as const) {
      setClock(offset);
      for (const name of ['central', 's', 'w']) await expect.poll(() => logOf(name)).toMatch(said);
      keyed.push(await submitKeyed(`k${keyed.length}`));
      await scheduler.kill();
      scheduler = await startScheduler();
      for (const [i, id] of keyed.entries()) expect(await submitKeyed(`k${i}`)).toBe(id);
    }
    writeFileSync(join(daemons.folder, 'go'), '');
    expect(await held.wait()).toMatchObject({
      state: 'completed',
      attempts: { total: 2, lost: 0, failed: 0 },
    });
    expect(lines()).toEqual(['0', '1']);
    expect((await client.counters()).central).toMatchObject({ workersJoined: 1, workersLost: 0 });
  },
);
