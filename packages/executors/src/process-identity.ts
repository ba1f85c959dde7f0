import { readdirSync, readFileSync } from 'node:fs';

/**
 * A process for good: numbers of processes come round again (within a minute where 32,768 is their
 * maximum and tasks are tiny), a number and a start time do not.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process; 0 without /proc. */
  readonly start: number;
}

/** undefined when there is no such process, or no /proc. A process that has ended is still there until it is reaped. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  return stat === undefined ? undefined : { pid, start: startOf(stat) };
}

/** Whether this very process is there and has not ended. Without a start time: whether the number is taken. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.start === 0) return signal(identity.pid, 0);
  const stat = statOf(identity.pid);
  return stat !== undefined && startOf(stat) === identity.start && !hasEnded(stat);
}

/**
 * Numbers of the process groups that have a member which has not ended. `kill(-group, 0)` also finds
 * members that nobody has reaped, and where process 1 is not an init (in many containers) they stay.
 *
 * @returns undefined without /proc.
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

/**
 * Peak resident memory of the processes that are in these groups now, summed by group. Bytes; nothing without /proc.
 */
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

/** `VmHWM` of proc(5); a process that has ended has none. */
function peakBytesOf(pid: string): number {
  try {
    const [, kibibytes = '0'] =
      /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kibibytes) * 1024;
  } catch {
    return 0;
  }
}

/** Sends a signal to a process, or with a negative number to a group. False when there is none. */
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

/** Fields of /proc/PID/stat after the command's name, which is in parentheses and may hold anything. */
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
