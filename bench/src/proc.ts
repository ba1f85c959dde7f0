import { readdirSync, readFileSync } from 'node:fs';
import { parseProcessStat, processNumbers, statusBytes } from '@goshawk/core';

/** In /proc the kernel counts in hundredths of a second. */
const TICK_MS = 10;

/**
 * Returns the processor time of a process and its descendants, by kind of process (the word after the script in its
 * command). On a shared machine it is more meaningful than elapsed time. In ms; empty without /proc.
 */
export function processorTime(root: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const pid of familyOf(root)) {
    const ms = TICK_MS * parseProcessStat(readOr(`/proc/${pid}/stat`)).processorTicks;
    const kind = kindOf(pid);
    if (ms > 0) times.set(kind, (times.get(kind) ?? 0) + ms);
  }
  return times;
}

/** Returns the resident memory of each descendant of a process, by kind of process, in MiB. */
export function residentByKind(root: number): Map<string, number[]> {
  const sizes = new Map<string, number[]>();
  for (const pid of familyOf(root)) {
    const size = residentMebibytes(pid);
    const kind = kindOf(pid);
    if (!Number.isNaN(size)) sizes.set(kind, [...(sizes.get(kind) ?? []), size]);
  }
  return sizes;
}

/**
 * Returns the memory of a process and its descendants in MiB, with pages that several processes share counted once: each
 * has its part. NaN without /proc.
 */
export function proportionalMebibytes(root: number): number {
  let sum = 0;
  for (const pid of familyOf(root))
    sum += (statusBytes(readOr(`/proc/${pid}/smaps_rollup`), 'Pss') ?? Number.NaN) / 2 ** 20;
  return sum;
}

/** Returns the resident memory of a process; NaN if it is gone or there is no /proc, in MiB. */
export function residentMebibytes(pid: number): number {
  return mebibytes(pid, 'VmRSS');
}

function mebibytes(pid: number, name: string): number {
  return (statusBytes(readOr(`/proc/${pid}/status`), name) ?? Number.NaN) / 2 ** 20;
}

function kindOf(pid: number): string {
  return readOr(`/proc/${pid}/cmdline`).split('\0')[2] ?? 'other';
}

function familyOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of processNumbers(readdirOr('/proc'))) {
    const { parent } = parseProcessStat(readOr(`/proc/${pid}/stat`));
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const family = [root];
  for (let i = 0; i < family.length; i++) family.push(...(children.get(family[i]!) ?? []));
  return family;
}

function readdirOr(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Processes may exit while /proc is read. */
function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
