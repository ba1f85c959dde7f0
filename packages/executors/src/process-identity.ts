import { readdirSync, readFileSync } from 'node:fs';

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
  return stat === undefined ? undefined : { pid, start: startOf(stat) };
}

/** Returns whether this process exists and has not ended. Without a start time: whether the pid is in use. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.start === 0) return signal(identity.pid, 0);
  const stat = statOf(identity.pid);
  return stat !== undefined && startOf(stat) === identity.start && !hasEnded(stat);
}

/**
 * Returns the process groups with a member that has not ended. `kill(-group, 0)` also finds zombies, which stay if process 1 is
 * not an init, as in many containers.
 *
 * @returns undefined without /proc
 */
export function liveGroups(): Set<number> | undefined {
  const pids = processNumbers();
  if (pids === undefined) return undefined;
  const groups = new Set<number>();
  for (const pid of pids) {
    const stat = statOf(pid);
    if (stat !== undefined && !hasEnded(stat)) groups.add(groupOf(stat));
  }
  return groups;
}

/** Returns the peak resident memory of the current processes of these groups, summed by group. Bytes; empty without /proc. */
export function memoryOfGroups(groups: { has(group: number): boolean }): Map<number, number> {
  const sums = new Map<number, number>();
  for (const pid of processNumbers() ?? []) {
    const stat = statOf(pid);
    const group = stat === undefined ? 0 : groupOf(stat);
    if (!groups.has(group)) continue;
    const bytes = peakBytesOf(pid);
    if (bytes > 0) sums.set(group, (sums.get(group) ?? 0) + bytes);
  }
  return sums;
}

function processNumbers(): string[] | undefined {
  try {
    return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  } catch {
    return undefined;
  }
}

/** Reads `VmHWM` of proc(5); an ended process has none. */
function peakBytesOf(pid: string): number {
  try {
    const [, kibibytes = '0'] =
      /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kibibytes) * 1024;
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

function statOf(pid: number | string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
}

/** Returns the fields of /proc/PID/stat after the command's name, which is in parentheses and may contain anything. */
function fieldsAfterName(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Field 22 of proc(5), `starttime`; the name is field 2. */
function startOf(stat: string): number {
  return Number(fieldsAfterName(stat)[19]);
}

/** Field 5 of proc(5), `pgrp`. */
function groupOf(stat: string): number {
  return Number(fieldsAfterName(stat)[2]);
}

/** Field 3 of proc(5), `state`: Z (zombie) or X (dead). */
function hasEnded(stat: string): boolean {
  const state = fieldsAfterName(stat)[0];
  return state === 'Z' || state === 'X';
}
