import fs from 'node:fs';
import { totalmem } from 'node:os';
import { cgroupLimits } from '@goshawk/core';
import { MODULE_HEAP_MIB_MAX, MODULE_HEAP_MIB_MIN, WORKER_BYTES } from './limits.js';

/**
 * Returns the heap of one module. A single module must not end its worker, so it gets half of the memory that the worker leaves.
 * Several modules together can still exceed it.
 *
 * @param allowedBytes memory limit of the worker's container, or of its machine
 */
export function moduleHeapMiB(allowedBytes: number): number {
  const half = Math.floor((allowedBytes - WORKER_BYTES) / 2 / (1024 * 1024));
  return Math.min(MODULE_HEAP_MIB_MAX, Math.max(MODULE_HEAP_MIB_MIN, half));
}

/** Returns the memory that this process may use: that of the machine, or the least limit of its control groups. */
export function allowedBytes(): number {
  return Math.min(totalmem(), cgroupLimits(fs).memory);
}
