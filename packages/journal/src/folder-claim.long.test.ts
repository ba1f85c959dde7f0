import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claimFolder, isClaimed } from './folder-claim.js';

const CANDIDATE = new URL('../dist/folder-claim.fixture.js', import.meta.url).pathname;

let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-claim-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function candidate(...prefix: string[]): Promise<{ said: string; child: ChildProcess }> {
  const [command, ...args] = [...prefix, process.execPath, CANDIDATE, folder];
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [said] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { said, child };
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Simulates another container: separate process ids, host name and network. */
const ELSEWHERE = ['unshare', '--pid', '--fork', '--kill-child', '--uts', '--net', '--ipc'];
const mayUnshare = spawnSync(ELSEWHERE[0]!, [...ELSEWHERE.slice(1), 'true']).status === 0;

describe('one folder, one process', () => {
  test.skipIf(!mayUnshare)(
    'two processes in different containers refuse each other (needs the right to create namespaces)',
    async () => {
      const first = await candidate();
      expect((await candidate(...ELSEWHERE)).said).toMatch(/another scheduler uses/);
      await killed(first.child);
      const inside = await candidate(...ELSEWHERE);
      expect(inside.said).toBe('claimed');
      expect((await candidate()).said).toMatch(/another scheduler uses/);
      expect((await candidate(...ELSEWHERE)).said).toMatch(/another scheduler uses/);
      await killed(inside.child);
      await expect.poll(async () => (await candidate()).said).toBe('claimed');
    },
  );

  test('a second process is refused with the pid of the first', async () => {
    const { child } = await candidate();
    await expect(claimFolder(folder)).rejects.toMatchObject({
      code: 'journal-in-use',
      message: expect.stringContaining(`process ${child.pid} on `),
    });
  });

  test('a process can check whether the folder is claimed without claiming it', async () => {
    expect(await isClaimed(join(folder, 'nowhere'))).toBe(false);
    expect(await isClaimed(folder)).toBe(false);
    const { child } = await candidate();
    expect(await isClaimed(folder)).toBe(true);
    await killed(child);
    expect(await isClaimed(folder)).toBe(false);
  });

  test('a stopped process keeps its claim', async () => {
    const { child } = await candidate();
    child.kill('SIGSTOP');
    await expect(claimFolder(folder)).rejects.toMatchObject({ code: 'journal-in-use' });
    child.kill('SIGCONT');
  });

  test('after SIGKILL the next process can claim it immediately, and no files remain', async () => {
    await killed((await candidate()).child);
    const { said, child } = await candidate();
    expect(said).toBe('claimed');
    expect(readdirSync(folder)).toHaveLength(1);
    await killed(child);
    await (await claimFolder(folder)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('one of several processes that start at once after a crash gets it', async () => {
    await killed((await candidate()).child);
    const all = await Promise.all(Array.from({ length: 5 }, () => candidate()));
    expect(all.map(({ said }) => said).filter((said) => said === 'claimed')).toHaveLength(1);
  });

  test('a folder with a long path can be claimed and refused', async () => {
    folder = join(folder, 'x'.repeat(100), 'y'.repeat(100));
    mkdirSync(folder, { recursive: true });
    expect((await candidate()).said).toBe('claimed');
    expect((await candidate()).said).toMatch(/another scheduler uses/);
  });
});
