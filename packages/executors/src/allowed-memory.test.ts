import { describe, expect, test } from 'vitest';
import { allowedBytes, hasMemoryToLend, moduleHeapMiB } from './allowed-memory.js';
import { MODULE_HEAP_MIB_MAX, WORKER_BYTES } from './limits.js';

const MIB = 1024 * 1024;

describe('the heap of a module', () => {
  test.each([256, 512, 1_024, 2_048])('does not kill a worker of %d MiB alone', (mib) => {
    expect(moduleHeapMiB(mib * MIB) * MIB + WORKER_BYTES).toBeLessThan(mib * MIB);
  });

  test('is the maximum on a large machine, and not zero on a tiny one', () => {
    expect(moduleHeapMiB(64 * 1024 * MIB)).toBe(MODULE_HEAP_MIB_MAX);
    expect(moduleHeapMiB(64 * MIB)).toBe(32);
  });

  test('depends on the memory limit of this process', () => {
    expect(allowedBytes()).toBeGreaterThan(64 * MIB);
    expect(Number.isFinite(allowedBytes())).toBe(true);
  });
});

describe('memory to lend', () => {
  const GIB = 1024 * MIB;
  const kib = (bytes: number) => `${bytes / 1_024} kB`;
  /** A machine of 16 GiB, in a group of version 2 or 1 that has a limit of 4 GiB. */
  const lends = (available: number, used: number, largest = 0, version = 2) => {
    const [folder, limit, usage, droppable] =
      version === 2
        ? ['/sys/fs/cgroup/a', 'memory.max', 'memory.current', 'inactive_file']
        : [
            '/sys/fs/cgroup/memory/a',
            'memory.limit_in_bytes',
            'memory.usage_in_bytes',
            'total_inactive_file',
          ];
    const files: Readonly<Record<string, string>> = {
      '/proc/meminfo': `MemTotal:    ${kib(16 * GIB)}\nMemFree:   1 kB\nMemAvailable:   ${kib(available)}\n`,
      '/proc/self/cgroup': version === 2 ? '0::/a\n' : '3:memory:/a\n2:cpu:/a\n',
      [`${folder}/${limit}`]: `${4 * GIB}\n`,
      [`${folder}/${usage}`]: `${used}\n`,
      [`${folder}/memory.stat`]: `anon 5\n${droppable} ${GIB}\n`,
    };
    return hasMemoryToLend(largest, {
      readFileSync(path) {
        if (files[path] === undefined) throw new Error('ENOENT');
        return files[path];
      },
    });
  };

  test.each([1, 2])('is a fifth of the machine and of the limit of version %d', (version) => {
    expect(lends(4 * GIB, 2 * GIB, 0, version)).toBe(true);
    expect(lends(3 * GIB, 2 * GIB, 0, version)).toBe(false);
    // A cache of 1 GiB can be dropped.
    expect(lends(4 * GIB, 4.1 * GIB, 0, version)).toBe(true);
    expect(lends(4 * GIB, 4.3 * GIB, 0, version)).toBe(false);
  });

  test('is at least that of the largest running task', () => {
    expect(lends(8 * GIB, 2 * GIB, 3 * GIB)).toBe(true);
    expect(lends(8 * GIB, 2 * GIB, 3.1 * GIB)).toBe(false);
    expect(hasMemoryToLend(1e18)).toBe(false);
  });
});
