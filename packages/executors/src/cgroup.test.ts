import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareCgroup } from './cgroup.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-cgroup-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the parent folder for cgroups of commands', () => {
  it('is refused with one line if it is not a cgroup', () => {
    expect(() => prepareCgroup(folder)).toThrow(`${folder} is not the folder of a cgroup (version 2)`);
  });

  it('is refused in one line that names a missing controller', () => {
    writeFileSync(join(folder, 'cgroup.controllers'), 'cpuset cpu pids\n');
    expect(() => prepareCgroup(folder)).toThrow(
      `the cgroup ${folder} lacks memory: enable them in its parent`,
    );
  });
});
