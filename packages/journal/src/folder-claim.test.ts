import { once } from 'node:events';
import { linkSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claimFolder, isClaimed } from './folder-claim.js';

test('who only looks at a folder changes nothing in it, such as in a backup that cannot be written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-claim-'));
  try {
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
  } finally {
    rmSync(folder, { recursive: true });
  }
});
