import { describe, expect, test } from 'vitest';
import { allowedBytes, moduleHeapMiB } from './allowed-memory.js';
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
