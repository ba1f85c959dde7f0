import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareCgroup, TaskCgroup } from './cgroup.js';

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

it('files that a command has read, which the kernel can drop, are not memory in use', () => {
  const cgroup = join(folder, 'goshawk-task-1-1');
  mkdirSync(cgroup);
  writeFileSync(join(cgroup, 'cpu.stat'), 'usage_usec 2500\nuser_usec 2000\n');
  writeFileSync(join(cgroup, 'memory.current'), '5000000\n');
  writeFileSync(join(cgroup, 'memory.stat'), 'anon 1000000\ninactive_file 3900000\nactive_file 100000\n');
  expect(new TaskCgroup(folder, 'task-1-1').usage).toEqual({ cpuMs: 2.5, memory: 1_100_000 });
});
