import { readFileSync } from 'node:fs';

/**
 * Returns the real-time signal that has ended a process, until the process is reaped. Node.js has no names for signals
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
