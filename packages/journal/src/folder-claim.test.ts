import { once } from 'node:events';
import { linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimFolder, isClaimed } from './folder-claim.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-claim-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('checking a folder changes nothing in it, for example in a read-only backup', async () => {
  const left = 'owner-0123456789abcdef.sock';
  const server = createServer().listen(join(folder, 'its'));
  await once(server, 'listening');
  linkSync(join(folder, 'its'), join(folder, left));
  server.close();
  await once(server, 'close');
  expect(await isClaimed(folder)).toBe(false);
  expect(readdirSync(folder)).toEqual([left]);
  const claim = await claimFolder(folder);
  expect(readdirSync(folder)).not.toContain(left);
  await claim.release();
});

test('claiming a folder removes the leftovers of a process that died while claiming, and no other file', async () => {
  for (const name of ['owner-0123456789abcdef.sock.early', 'its.early'])
    writeFileSync(join(folder, name), '');
  const claim = await claimFolder(folder);
  expect(readdirSync(folder).filter((name) => name.endsWith('.early'))).toEqual(['its.early']);
  await claim.release();
});

test('one of many simultaneous processes gets the folder, and the others report this', async () => {
  const claims = await Promise.allSettled(Array.from({ length: 8 }, () => claimFolder(folder)));
  const had = claims.filter((each) => each.status === 'fulfilled');
  expect(had.length).toBeLessThanOrEqual(1);
  for (const each of claims)
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'journal-in-use' });
  for (const { value } of had) await value.release();
  expect(readdirSync(folder)).toEqual([]);
});
