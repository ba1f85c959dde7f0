import { join } from 'node:path';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DiskImage, mayMountImages } from './mounts.fixture.js';

const daemons = new TestDaemons('read-only', { beforeEach, afterEach });
let disk: DiskImage | undefined;
beforeEach(() => {
  disk = undefined;
});
afterEach(() => disk?.detach());

/** Lines of a log that are neither JSON nor lmdb's own message about a failed commit. */
function strayLines(name: string): string[] {
  const lines = daemons.logOf(name).split('\n');
  return lines.filter((line) => /^Node\.js v|^node:|^Uncaught|unhandled/i.test(line));
}

const saying = (name: string, pattern: RegExp): string[] =>
  daemons
    .logOf(name)
    .split('\n')
    .filter((line) => pattern.test(line));

test.skipIf(!mayMountImages())(
  'a disk that turns read-only ends its scheduler with one line, and loses no accepted job (only with the right to mount)',
  async () => {
    disk = new DiskImage(daemons.folder, 300);
    disk.mount();
    await daemons.startCentral();
    const startAt = (name: string, place: string): Promise<Daemon> =>
      daemons.start(name, [
        'scheduler',
        ...['--name', name, '--central-url', daemons.url, '--data-folder', join(place, name)],
      ]);
    let scheduler = await startAt('s', disk.folder);
    const worker = await daemons.start('w', [
      'worker',
      ...['--name', 'w', '--central-url', daemons.url, '--data-folder', join(disk.folder, 'w')],
      ...['--cpus', '4'],
    ]);
    const client = await daemons.connect();
    const ended = await client.submit({ key: 'ended', tasks: [{ exec: ['true'] }] });
    expect((await ended.wait()).state).toBe('completed');
    const held = await client.submit({ tasks: [daemons.held] });
    await expect.poll(() => daemons.linesOf('lines')).toEqual(['0']);

    disk.turnReadOnly();
    const giveUp = new AbortController();
    const refused = client.submit({ tasks: [{ exec: ['true'] }] }, { signal: giveUp.signal });
    expect(await scheduler.ended).not.toBe(0);
    giveUp.abort();
    await expect(refused).rejects.toThrow();
    await client.close();
    expect(
      saying('s', /the journal cannot be written: Read-only file system.*this scheduler exits/),
    ).toHaveLength(1);
    expect(strayLines('s')).toEqual([]);
    await expect(startAt('s', disk.folder)).rejects.toThrow();
    expect(saying('s', /cannot claim .*read-only file system/)).toHaveLength(1);

    // The worker's disk is the same one: its tasks run, and it reports once that it cannot record them.
    const other = await startAt('t', daemons.folder);
    const meanwhile = await daemons.connect();
    const job = await meanwhile.submit({ tasks: [{ exec: ['true'] }, { exec: ['true'] }] });
    expect((await job.wait()).state).toBe('completed');
    await meanwhile.close();
    expect(saying('w', /cannot write the record of process groups: .*read-only/i)).toHaveLength(1);
    worker.signal('SIGTERM');
    await other.kill();
    daemons.letGo();

    await worker.kill();
    expect(strayLines('w')).toEqual([]);
    await expect.poll(() => disk!.unmount()).toBeUndefined();
    disk.mount();
    scheduler = await startAt('s', disk.folder);
    await daemons.startWorker('w2');
    await using again = await daemons.connect();
    expect((await again.submit({ key: 'ended', tasks: [{ exec: ['true'] }] })).id).toBe(ended.id);
    expect((await again.job(held.id).wait()).state).toBe('completed');
    await scheduler.kill();
  },
);
