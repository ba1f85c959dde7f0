import type { Usage } from './contract.js';
import { usageOfGroups } from './process-identity.js';

/** Sampling interval. A sample scans all processes, and sampling takes at most a twentieth of the time. */
const SAMPLE_INTERVAL_MS = 250;
const SAMPLE_TIME_DIVISOR = 20;
/** Interval (ms) over which CPU use is averaged and reported. */
const REPORT_MS = 1_000;

/** Reads what the processes of a command have used; undefined: unknown. */
type ReadUsage = () => { readonly cpuMs: number; readonly memory: number } | undefined;

interface Watched {
  /** Source of the values other than the scan, such as a cgroup. */
  readonly read: ReadUsage | undefined;
  peak: number;
  /** Highest CPU time of the processes that existed together. */
  peakCpuMs: number;
  /** Current memory, and CPU time since the start of the command. */
  memory: number;
  cpuMs: number | undefined;
  /** CPU time at the last report. */
  reported: { readonly cpuMs: number; readonly at: number };
}

/**
 * CPU and memory of running process groups: the current values, and the peak memory as the sum of the peaks of
 * processes that exist together. A group that ends before the first sample has none.
 */
export class GroupUsage {
  readonly #watched = new Map<number, Watched>();
  readonly #onUsage: (usage: ReadonlyMap<number, Usage>) => void;
  #timer: NodeJS.Timeout | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** @param onUsage called about once a second with the usage by group */
  constructor(onUsage: (usage: ReadonlyMap<number, Usage>) => void = () => {}) {
    this.#onUsage = onUsage;
  }

  add(group: number, read?: ReadUsage): void {
    const reported = { cpuMs: 0, at: performance.now() };
    this.#watched.set(group, { read, peak: 0, peakCpuMs: 0, memory: 0, cpuMs: undefined, reported });
    this.#timer ??= setTimeout(() => this.#sample(), SAMPLE_INTERVAL_MS).unref();
  }

  /** Stops watching the group. @returns its peak memory in bytes and its CPU time at the last sample; undefined if unknown */
  take(group: number): { readonly peak: number; readonly cpuMs: number } | undefined {
    const watched = this.#watched.get(group);
    this.#watched.delete(group);
    return watched === undefined || watched.peak === 0
      ? undefined
      : { peak: watched.peak, cpuMs: watched.peakCpuMs };
  }

  #sample(): void {
    this.#timer = undefined;
    if (this.#watched.size === 0) return;
    const began = performance.now();
    const scanned = new Set<number>();
    for (const [group, { read }] of this.#watched) if (read === undefined) scanned.add(group);
    if (scanned.size > 0)
      for (const [group, { peak, memory, cpuMs }] of usageOfGroups(scanned)) {
        const watched = this.#watched.get(group)!;
        watched.peak = Math.max(watched.peak, peak);
        watched.peakCpuMs = Math.max(watched.peakCpuMs, cpuMs);
        Object.assign(watched, { memory, cpuMs });
      }
    if (began - this.#reportedAt >= REPORT_MS) this.#report(began);
    const tookMs = performance.now() - began;
    this.#timer = setTimeout(
      () => this.#sample(),
      Math.max(SAMPLE_INTERVAL_MS, SAMPLE_TIME_DIVISOR * tookMs),
    ).unref();
  }

  #report(now: number): void {
    this.#reportedAt = now;
    const usage = new Map<number, Usage>();
    for (const [group, watched] of this.#watched) {
      const { cpuMs, memory } = watched.read === undefined ? watched : (watched.read() ?? {});
      if (cpuMs === undefined || memory === undefined) continue;
      const { reported } = watched;
      // The sum may decrease: the CPU time of a child disappears if its parent has not waited for it.
      const cpu = Math.max(0, cpuMs - reported.cpuMs) / Math.max(1, now - reported.at);
      watched.reported = { cpuMs, at: now };
      usage.set(group, { cpu: Math.round(100 * cpu) / 100, memory });
    }
    if (usage.size > 0) this.#onUsage(usage);
  }
}
