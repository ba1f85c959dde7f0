/** Fields of `/proc/PID/stat`, see proc(5). */
export interface ProcessStat {
  /** A letter: `Z` is a zombie, `X` is dead. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Processor time, user and system, in clock ticks. */
  readonly processorTicks: number;
  /** Processor time of children that have ended and were waited for, in clock ticks. */
  readonly childTicks: number;
  /** Clock ticks from boot to the start of the process. */
  readonly start: number;
  /** Whether it has begun to exit. It does so before it closes its descriptors. */
  readonly isExiting: boolean;
  /** As from waitpid(2), set before it closes its descriptors; 0 if this process may not see it. */
  readonly waitStatus: number;
}

/** A flag of the kernel's tasks (`linux/sched.h`). */
const PF_EXITING = 4;

/** @param text of `/proc/PID/stat`, in which the command's name is in parentheses and may contain anything */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    state: fields[0]!,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    processorTicks: Number(fields[11]) + Number(fields[12]),
    childTicks: Number(fields[13]) + Number(fields[14]),
    start: Number(fields[19]),
    isExiting: (Number(fields[6]) & PF_EXITING) !== 0,
    waitStatus: Number(fields[49] ?? 0),
  };
}

/** Whether the process has ended, although its parent has not read its exit code. */
export function hasExited({ state }: Pick<ProcessStat, 'state'>): boolean {
  return state === 'Z' || state === 'X';
}

/**
 * Returns an amount of memory in `/proc/PID/status` or `/proc/meminfo`, such as `VmHWM`. Bytes; undefined for an ended process,
 * which has none.
 */
export function statusBytes(text: string, name: string): number | undefined {
  const [, kibibytes] = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024;
}

/** @param names of the entries of `/proc` */
export function processNumbers(names: readonly string[]): number[] {
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}
