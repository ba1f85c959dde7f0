import { readFileSync } from 'node:fs';

/** SIGRTMIN of Linux; the C library keeps 32 and 33 for itself. */
const REAL_TIME_FIRST = 34;

/**
 * Returns the real-time signal that has ended a process, as long as nobody has reaped it. Node.js has no names for signals
 * above 31 and reports exit code 0 for them.
 */
export function fatalSignalOf(pid: number): number | undefined {
  try {
    // The last field of proc(5) stat is the wait status, set before the kernel closes the descriptors of the process.
    const status = /(\d+)\s*$/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))![1];
    const signal = Number(status) & 0x7f;
    return signal > 31 ? signal : undefined;
  } catch {
    return undefined;
  }
}

/** @param signal above 31 */
export function nameOfSignal(signal: number): string {
  const offset = signal - REAL_TIME_FIRST;
  if (offset < 0) return `SIG${signal}`;
  return offset === 0 ? 'SIGRTMIN' : `SIGRTMIN+${offset}`;
}
