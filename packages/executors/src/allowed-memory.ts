import fs from 'node:fs';
import { totalmem } from 'node:os';
import { cgroupLimits, memoryRooms } from '@goshawk/core';
import {
  LENDING_MEMORY_SHARE_MIN,
  MODULE_HEAP_MIB_MAX,
  MODULE_HEAP_MIB_MIN,
  WORKER_BYTES,
} from './limits.js';

/**
 * Returns the heap size of one module: half of the memory that its worker does not need, so that no single module can
 * crash the worker. Several modules together still can.
 *
 * @param allowedBytes memory limit of the worker's container, or of its machine
 */
export function moduleHeapMiB(allowedBytes: number): number {
  const half = Math.floor((allowedBytes - WORKER_BYTES) / 2 / (1024 * 1024));
  return Math.min(MODULE_HEAP_MIB_MAX, Math.max(MODULE_HEAP_MIB_MIN, half));
}

/**
 * Returns the memory in bytes that this process may use: that of the machine, or the lowest limit of its control
 * groups.
 */
export function allowedBytes(): number {
  return Math.min(totalmem(), cgroupLimits(fs).memory);
}

/**
 * Whether a task may start beside a paused one, which keeps its memory: on the machine, and in each control group with a limit,
 * a fifth of the memory is available, and as much as the largest running task uses. Reads a few files, in about 0.1 ms.
 *
 * @param largestTaskBytes resident memory of the largest running task
 */
export function hasMemoryToLend(
  largestTaskBytes: number,
  system: Parameters<typeof memoryRooms>[0] = fs,
): boolean {
  return memoryRooms(system).every(
    ({ limit, available }) => available >= Math.max(LENDING_MEMORY_SHARE_MIN * limit, largestTaskBytes),
  );
}
