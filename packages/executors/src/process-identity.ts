import { readdirSync, readFileSync } from 'node:fs';
import {
  hasExited,
  type ProcessStat,
  parseProcessStat,
  processNumbers,
  statusBytes,
} from '@goshawk/core/system';

/**
 * Identifies a process permanently. Pids are reused (within a minute if the maximum is 32,768 and tasks are tiny); a
 * pid with its start time is not.
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

/** Whether a signal has suspended the process, so that it does nothing until it gets SIGCONT. */
export function isSuspended(pid: number): boolean {
  return statOf(pid)?.state === 'T';
}

/**
 * Returns the process groups with a member that has not ended. `kill(-group, 0)` also finds zombies, which stay if
 * process 1 is not an init, as in many containers.
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

/**
 * Returns the processes of a command outside of its process group: descendants of its leader, and members of its session.
 * A descendant in a separate session whose parent has ended is not found.
 *
 * @returns empty without /proc
 */
export function processesOutsideGroup(leader: number): ProcessIdentity[] {
  const all = new Map<number, ProcessStat>();
  for (const pid of allProcesses() ?? []) {
    const stat = statOf(pid);
    if (stat !== undefined && !hasExited(stat)) all.set(pid, stat);
  }
  const belongs = new Map<number, boolean>([[leader, true]]);
  const isOfCommand = (pid: number): boolean => {
    const known = belongs.get(pid);
    if (known !== undefined) return known;
    belongs.set(pid, false); // a pid that is reused during the scan could close a circle
    const stat = all.get(pid);
    const result =
      stat !== undefined && (stat.group === leader || stat.session === leader || isOfCommand(stat.parent));
    belongs.set(pid, result);
    return result;
  };
  return Array.from(all)
    .filter(([pid, { group }]) => group !== leader && isOfCommand(pid))
    .map(([pid, { start }]) => ({ pid, start }));
}

/** Sums over the current processes of a group, and its children that have ended. */
interface GroupSums {
  /** Peak and current resident memory, in bytes. */
  peak: number;
  memory: number;
  cpuMs: number;
}

/** Linux reports processor time to user space in hundredths of a second on all platforms that Node.js supports. */
const MS_PER_TICK = 10;

/** Returns memory and processor time of the current processes of these groups, by group; empty without /proc. */
export function usageOfGroups(groups: { has(group: number): boolean }): Map<number, GroupSums> {
  const sums = new Map<number, GroupSums>();
  for (const pid of allProcesses() ?? []) {
    const stat = statOf(pid);
    if (stat === undefined || !groups.has(stat.group)) continue;
    const sum = sums.get(stat.group) ?? { peak: 0, memory: 0, cpuMs: 0 };
    const { peak, memory } = memoryOf(pid);
    sum.peak += peak;
    sum.memory += memory;
    sum.cpuMs += MS_PER_TICK * (stat.processorTicks + stat.childTicks);
    sums.set(stat.group, sum);
  }
  return sums;
}

/** Describes a process that exits, as proc(5) shows it from before it closes its descriptors until it is reaped. */
export interface Exiting {
  /** The signal that ended it; 0: none. */
  readonly fatalSignal: number;
  /** CPU time of all its threads, and of the children it waited for. */
  readonly cpuMs: number;
  /** Whether a later look would show the same. */
  readonly isFinal: boolean;
}

/** @returns undefined if the process runs or is reaped, or without /proc */
export function exiting(pid: number): Exiting | undefined {
  const stat = statOf(pid);
  if (stat === undefined || !stat.isExiting) return undefined;
  const { waitStatus, processorTicks, childTicks } = stat;
  return {
    fatalSignal: waitStatus & 0x7f,
    cpuMs: Math.max(MS_PER_TICK * processorTicks, threadMs(pid)) + MS_PER_TICK * childTicks,
    isFinal: hasExited(stat) || waitStatus !== 0,
  };
}

/** CPU time of the first thread of a process in finer units than ticks, which is that of most short commands; 0 if unknown. */
function threadMs(pid: number): number {
  try {
    const nanoseconds = Number.parseInt(readFileSync(`/proc/${pid}/schedstat`, 'latin1'), 10);
    return Math.round(nanoseconds / 1e3) / 1e3 || 0;
  } catch {
    return 0;
  }
}

function allProcesses(): number[] | undefined {
  try {
    return processNumbers(readdirSync('/proc'));
  } catch {
    return undefined;
  }
}

function memoryOf(pid: number): { readonly peak: number; readonly memory: number } {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    return { peak: statusBytes(text, 'VmHWM') ?? 0, memory: statusBytes(text, 'VmRSS') ?? 0 };
  } catch {
    return { peak: 0, memory: 0 };
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

/** Returns an id that changes with every boot of the machine; empty without /proc. */
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
