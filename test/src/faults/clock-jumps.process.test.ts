import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** Library of Debian's package `faketime`. It sets the clock of a running process through a file. */
const LIBRARY = readdirSync('/usr/lib')
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find(existsSync);

const daemons = new TestDaemons('clock', { beforeEach, afterEach });
beforeEach(() => setClock('+0'));

const clock = (): string => join(daemons.folder, 'clock');

/** Sets the clock of all daemons to this offset from the right time. */
function setClock(offset: string): void {
  writeFileSync(`${clock()}.new`, offset);
  renameSync(`${clock()}.new`, clock());
}

const environment = (): NodeJS.ProcessEnv => ({
  LD_PRELOAD: LIBRARY,
  FAKETIME_TIMESTAMP_FILE: clock(),
  FAKETIME_NO_CACHE: '1',
  // Only the wall clock jumps, like on a machine whose clock is set.
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

test.skipIf(LIBRARY === undefined)(
  'clock jumps of a day forward and two back lose no worker, job or key, and run nothing twice (only with libfaketime)',
  async () => {
    await daemons.startCentral([], environment());
    const startScheduler = () => daemons.startScheduler('s', ['--keep-jobs', '1'], environment());
    let scheduler = await startScheduler();
    await daemons.startWorker('w', ['--cpus', '4'], environment());
    await using client = await daemons.connect();
    const held = await client.submit({ timeout: '1h', tasks: { count: 2, run: daemons.held } });
    await expect.poll(() => daemons.linesOf('lines')).toEqual(['0', '1']);
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
      for (const name of ['central', 's', 'w']) await expect.poll(() => daemons.logOf(name)).toMatch(said);
      keyed.push(await submitKeyed(`k${keyed.length}`));
      await scheduler.kill();
      scheduler = await startScheduler();
      for (const [i, id] of keyed.entries()) expect(await submitKeyed(`k${i}`)).toBe(id);
    }
    daemons.letGo();
    expect(await held.wait()).toMatchObject({
      state: 'completed',
      attempts: { total: 2, lost: 0, failed: 0 },
    });
    expect(daemons.linesOf('lines')).toEqual(['0', '1']);
    expect((await client.counters()).central).toMatchObject({ workersJoined: 1, workersLost: 0 });
  },
);
