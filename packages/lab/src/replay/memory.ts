import { readFile } from 'node:fs/promises';
import { sumOf } from '@goshawk/core';

/**
 * The most memory that each of these processes has had resident, added up. In bytes; null where the system
 * does not say, or a process is gone.
 */
export async function peakRssOf(pids: readonly number[]): Promise<number | null> {
  try {
    const peaks = await Promise.all(pids.map(peakRssOfOne));
    return sumOf(peaks);
  } catch {
    return null;
  }
}

async function peakRssOfOne(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const peak = /^VmHWM:\s*(\d+) kB$/m.exec(status);
  if (peak === null) throw new Error(`no VmHWM of process ${pid}`);
  return Number(peak[1]) * 1_024;
}
