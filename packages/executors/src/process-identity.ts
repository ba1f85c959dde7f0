import { readdirSync, readFileSync } from 'node:fs';
import { hasExited, type ProcessStat, parseProcessStat, processNumbers, statusBytes } from '@goshawk/core';

/**
 * Identifies a process permanently. Pids are reused (within a minute if the maximum is 32,768 and tasks are tiny); a pid with its
 * start time is not.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process; 0 without /proc. */
  readonly start: number;
}

/** Returns undefined if there is no such process, or no /proc. An ended process exists until it is reaped. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  return stat && { pid, start: stat.start };
}

/** Returns whether this process exists and has not ended. Without a start time: whether the pid is in use. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.start === 0) return signal(identity.pid, 0);
  const stat = statOf(identity.pid);
  return stat !== undefined && stat.start === identity.start && !hasExited(stat);
}

/**
 * Returns the process groups with a member that has not ended. `kill(-group, 0)` also finds zombies, which stay if process 1 is
 * not an init, as in many containers.
 *
 * @returns undefined without /proc
 */
export function liveGroups(): Set<number> | undefined {
  const pids = allProcesses();
  if (pids === undefined) return undefined;
  const groups = new Set<number>();
  for (const pid of pids) {
    const stat = statOf(pid);
    if (stat !== undefined && !hasExited(stat)) groups.add(stat.group);
  }
  return groups;
}

/** Returns the peak resident memory of the current processes of these groups, summed by group. Bytes; empty without /proc. */
export function memoryOfGroups(groups: { has(group: number): boolean }): Map<number, number> {
  const sums = new Map<number, number>();
  for (const pid of allProcesses() ?? []) {
    const stat = statOf(pid);
    const group = stat?.group ?? 0;
    if (!groups.has(group)) continue;
    const bytes = peakBytesOf(pid);
    if (bytes > 0) sums.set(group, (sums.get(group) ?? 0) + bytes);
  }
  return sums;
}

function allProcesses(): number[] | undefined {
  try {
    return processNumbers(readdirSync('/proc'));
  } catch {
    return undefined;
  }
}

function peakBytesOf(pid: number): number {
  try {
    return statusBytes(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmHWM') ?? 0;
  } catch {
    return 0;
  }
}

/** Signals a process, or a group by its negated number. @returns false if it does not exist */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Changes with every boot of the machine; empty without /proc. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}
