import { describe, expect, test } from 'vitest';
import { cgroupLimits } from './cgroup-limits.js';

describe('limits of control groups', () => {
  const GIB = 1024 ** 3;
  const limitsIn = (files: Readonly<Record<string, string>>) =>
    cgroupLimits({
      readFileSync(path) {
        if (files[path] === undefined) throw new Error('ENOENT');
        return files[path];
      },
    });

  test('of version 2, the smallest of a group and those that contain it', () => {
    const files = {
      '/proc/self/cgroup': '0::/pods/one\n',
      '/sys/fs/cgroup/pods/one/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/pods/cpu.max': '250000 100000\n',
      '/sys/fs/cgroup/pods/one/memory.max': `${4 * GIB}\n`,
      '/sys/fs/cgroup/pods/memory.max': 'max\n',
    };
    expect(limitsIn(files)).toEqual({ cpus: 2.5, memory: 4 * GIB });
  });

  test('of version 2 in a container, which shows its own group as the root', () => {
    const files = {
      '/proc/self/cgroup': '0::/../../kubepods/x\n',
      '/sys/fs/cgroup/cpu.max': '50000 100000\n',
      '/sys/fs/cgroup/memory.max': `${GIB}\n`,
    };
    expect(limitsIn(files)).toEqual({ cpus: 0.5, memory: GIB });
  });

  test('of version 1', () => {
    const files = {
      '/proc/self/cgroup':
        '4:memory:/docker/a\n3:cpu,cpuacct:/docker/a\n2:cpuset:/docker/a\n1:name=systemd:/a\n',
      '/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '300000\n',
      '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes': `${2 * GIB}\n`,
    };
    expect(limitsIn(files)).toEqual({ cpus: 3, memory: 2 * GIB });
  });

  test('none without control groups', () => {
    const none = Number.POSITIVE_INFINITY;
    expect(limitsIn({})).toEqual({ cpus: none, memory: none });
    expect(limitsIn({ '/proc/self/cgroup': 'garbage\n0::/\n' })).toEqual({ cpus: none, memory: none });
  });
});
