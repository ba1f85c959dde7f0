import { describe, expect, test } from 'vitest';
import { allowedBytes, MODULE_HEAP_MIB_MAX, moduleHeapMiB, WORKER_BYTES } from './limits.js';

const MIB = 1024 * 1024;

describe('the heap of a module', () => {
  test.each([256, 512, 1_024, 2_048])('does not end a worker of %d MiB alone', (mib) => {
    expect(moduleHeapMiB(mib * MIB) * MIB + WORKER_BYTES).toBeLessThan(mib * MIB);
  });

  test('is the most that there is on a large machine, and something on a tiny one', () => {
    expect(moduleHeapMiB(64 * 1024 * MIB)).toBe(MODULE_HEAP_MIB_MAX);
    expect(moduleHeapMiB(64 * MIB)).toBe(32);
  });

  test('follows from what this process may use', () => {
    expect(allowedBytes()).toBeGreaterThan(64 * MIB);
    expect(Number.isFinite(allowedBytes())).toBe(true);
  });
});
