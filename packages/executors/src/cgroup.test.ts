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

describe('a folder for the cgroups of commands', () => {
  it('that is no cgroup is refused in one line', () => {
    expect(() => prepareCgroup(folder)).toThrow(`${folder} is not the folder of a cgroup (version 2)`);
  });

  it('without a controller is refused in one line that names it', () => {
    writeFileSync(join(folder, 'cgroup.controllers'), 'cpuset cpu pids\n');
    expect(() => prepareCgroup(folder)).toThrow(
      `the cgroup ${folder} lacks memory: enable them in its parent`,
    );
  });
});
