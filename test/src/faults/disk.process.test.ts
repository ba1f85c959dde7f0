import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TestDaemons, WITH_HTTP } from '@goshawk/cli/testing';
import { connect } from '@goshawk/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { mayMount } from './mounts.fixture.js';

const MIB = 1024 * 1024;

const daemons = new TestDaemons('disk', { beforeEach, afterEach });
beforeEach(() => daemons.startCentralAndWorkers());
afterEach(() => {
  if (existsSync(disk())) execFileSync('umount', ['-l', disk()], { stdio: 'ignore' });
});

const disk = (): string => join(daemons.folder, 'disk');

/** Leaves this much free space on the disk, or what remains. */
function fillUpTo(mebibytesFree: number): void {
  const { bavail, bsize } = statfsSync(disk());
  appendFileSync(filler(), Buffer.alloc(Math.max(0, bavail * bsize - mebibytesFree * MIB)));
}

const filler = (): string => join(disk(), 'filler');

test.skipIf(!mayMount())(
  'a full disk causes refusals of new jobs and harms no accepted ones, until there is room again (only with the right to mount)',
  async () => {
    mkdirSync(disk());
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=220m', 'tmpfs', disk()]);
    const args = ['--central-url', daemons.url, '--data-folder', join(disk(), 's')];
    const scheduler = await daemons.start('s', ['scheduler', '--name', 's', ...WITH_HTTP, ...args]);
    try {
      await using client = await connect(daemons.url, { requestTimeoutMs: 20_000, renewMs: 500 });
      const old = await client.submit({ tasks: [daemons.held, daemons.held] });
      const held = await client.submit({ tasks: [{ sleep: 600_000 }] });
      fillUpTo(40);
      await vi.waitFor(
        () =>
          expect(client.submit({ tasks: [{ sleep: 1 }] })).rejects.toMatchObject({ code: 'journal-full' }),
        { timeout: 60_000, interval: 200 },
      );
      // No record can be written after this point, so ends of tasks wait.
      await vi.waitFor(
        async () => {
          fillUpTo(4);
          const { s } = (await client.counters()).schedulers;
          expect((s!.journal as { freeBytes: number }).freeBytes).toBeLessThan(6 * MIB);
        },
        { timeout: 60_000, interval: 200 },
      );
      daemons.letGo();
      await expect(old.wait({ timeoutMs: 3_000 })).rejects.toMatchObject({ code: 'wait-timeout' });
      // Read requests are still answered; requests that need a record fail with the reason.
      expect((await client.jobs()).total).toBeGreaterThanOrEqual(2);
      expect((await old.describe()).tasks.total).toBe(2);
      await expect(held.cancel()).rejects.toMatchObject({ code: 'journal-pending' });
      const ready = await fetch(`${await daemons.httpAddressOf('s')}/readyz`);
      expect([ready.status, await ready.text()]).toEqual([
        503,
        expect.stringContaining('no records are written'),
      ]);
      rmSync(filler());
      expect((await held.wait({ timeoutMs: 60_000 })).state).toBe('cancelled');
      expect((await old.wait({ timeoutMs: 60_000 })).state).toBe('completed');
      const next = await vi.waitFor(() => client.submit({ tasks: [{ sleep: 1 }] }), {
        timeout: 60_000,
        interval: 200,
      });
      expect((await next.wait()).state).toBe('completed');
    } finally {
      await scheduler.kill();
    }
  },
);

test('a scheduler sends nothing after a failed write, and continues from the disk when it is restarted', async () => {
  const scheduler = await daemons.startScheduler('s');
  await using client = await daemons.connect();
  const old = await client.submit({ tasks: [{ sleep: 1 }] });
  await old.wait();
  // No file of this process can grow after this point.
  const { size } = statSync(join(daemons.folder, 's', 'journal', 'jobs.mdb'));
  execFileSync('prlimit', ['--pid', `${scheduler.pid}`, `--fsize=${size}:${size}`]);
  let answered = 0;
  const giveUp = new AbortController();
  const submissions = Array.from({ length: 50 }, (_, each) => {
    const job = { key: `k${each}`, tasks: [{ exec: ['true', 'x'.repeat(4_000)] }] };
    return client.submit(job, { signal: giveUp.signal }).then(() => answered++);
  });
  expect(await scheduler.ended).not.toBe(0);
  giveUp.abort();
  await Promise.allSettled(submissions);
  await daemons.startScheduler('s');
  await using other = await daemons.connect();
  await expect.poll(async () => (await other.jobs()).total).toBeGreaterThan(0);
  const { total } = await other.jobs();
  // Every acknowledged job must exist; an unacknowledged one may exist.
  expect(total).toBeGreaterThanOrEqual(1 + answered);
  expect((await other.job(old.id).describe()).state).toBe('completed');
  const again = await Promise.all(
    Array.from({ length: 50 }, (_, each) =>
      other.submit({ key: `k${each}`, tasks: [{ exec: ['true', 'x'.repeat(4_000)] }] }),
    ),
  );
  expect(new Set(again.map(({ id }) => id)).size).toBe(50);
  expect((await other.jobs()).total).toBe(51);
});
