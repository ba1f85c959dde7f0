import { readdirSync, readFileSync } from 'node:fs';

/** In /proc the kernel counts in hundredths of a second. */
const TICK_MS = 10;

/**
 * Returns the processor time of a process and its descendants, by kind of process (the word after the script in its
 * command). On a shared machine it is more meaningful than elapsed time. ms; empty without /proc.
 */
export function processorTime(root: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const pid of familyOf(root)) {
    const stat = readOr(`/proc/${pid}/stat`);
    // The name of the command, in brackets, may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ms = TICK_MS * (Number(fields[11]) + Number(fields[12]));
    const kind = readOr(`/proc/${pid}/cmdline`).split('\0')[2] ?? 'other';
    if (ms > 0) times.set(kind, (times.get(kind) ?? 0) + ms);
  }
  return times;
}

/** Returns the resident memory of a process; NaN if it is gone or there is no /proc. MiB */
export function residentMebibytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readOr(`/proc/${pid}/status`))?.[1]) / 1_024;
}

/** Returns the memory of a process without mapped files, such as those of its journal; NaN if it is gone. MiB */
export function anonymousMebibytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+)/m.exec(readOr(`/proc/${pid}/status`))?.[1]) / 1_024;
}

function familyOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirOr('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readOr(`/proc/${name}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
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
