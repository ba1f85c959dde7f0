import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepareCgroup } from './cgroup.js';

const ROOT = '/sys/fs/cgroup';

/**
 * A cgroup for the tests of one file. If this machine has no writable cgroup v2 with cpu and memory, the tests are skipped with
 * a message; with `GOSHAWK_REQUIRE=cgroup` they fail.
 */
export function cgroupOfTests(): { readonly folder: string; remove(): void } | undefined {
  const folder = join(ROOT, `goshawk-test-${process.pid}`);
  const remove = (): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) rmdirSync(join(folder, entry.name));
    rmdirSync(folder);
  };
  try {
    mkdirSync(folder);
    prepareCgroup(folder);
    return { folder, remove };
  } catch (error) {
    if (existsSync(folder)) rmdirSync(folder);
    const missing = `no cgroup can be made here: ${(error as Error).message}`;
    if ((process.env.GOSHAWK_REQUIRE ?? '').split(',').includes('cgroup')) throw new Error(missing);
    console.warn(`${missing}: its tests are left out`);
    return undefined;
  }
}
