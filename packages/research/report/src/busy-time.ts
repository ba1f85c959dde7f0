import { Samples } from '@goshawk/core';
import type { UtilisationLevels } from './comparison.js';

/** Times are rounded to this resolution, so that consecutive tasks of a slot do not overlap. */
const PER_SECOND = 1e6;

/** CPUs in use are rounded to this resolution. */
const PER_CPU = 1e6;

type Ordered = Readonly<Record<'starts' | 'ends' | 'cpusStarting' | 'cpusEnding', ArrayLike<number>>>;

/** Adds up the CPUs in use over time exactly, from the starts and ends of all tasks (16 or 24 bytes per task). */
export class BusyTime {
  readonly #starts = new Samples();
  readonly #ends = new Samples();
  /** CPUs by task; undefined while each task uses one. */
  #cpus: Samples | undefined;
  /** Cached result of `#inOrder`, until the next task. */
  #ordered: Ordered | undefined;

  /** Marks CPUs as busy in an interval, in seconds since the run began. */
  add(fromSeconds: number, toSeconds: number, cpus = 1): void {
    const from = rounded(fromSeconds);
    const to = rounded(toSeconds);
    if (to <= from) return;
    if (cpus !== 1 && this.#cpus === undefined) {
      this.#cpus = new Samples();
      for (let task = 0; task < this.#starts.length; task++) this.#cpus.push(1);
    }
    this.#ordered = undefined;
    this.#starts.push(from);
    this.#ends.push(to);
    this.#cpus?.push(cpus);
  }

  /**
   * Returns the share of busy CPUs up to a time: its mean, median and maximum over time. All are null if no
   * time has passed.
   */
  until(seconds: number, totalCpus: number): UtilisationLevels {
    if (!(seconds > 0)) return { mean: null, p50: null, max: null };
    this.#ordered ??= this.#inOrder();
    const { starts, ends, cpusStarting, cpusEnding } = this.#ordered;
    const timeAt = new Map<number, number>();
    let [area, busy, at, most] = [0, 0, 0, 0];
    let ended = 0;
    const advance = (to: number): void => {
      const time = Math.min(to, seconds) - at;
      if (time <= 0) return;
      // Start times are slightly inexact, so a CPU may seem to run two consecutive tasks at once. Sums of fractions are rounded.
      const level = Math.min(Math.round(busy * PER_CPU) / PER_CPU, totalCpus);
      timeAt.set(level, (timeAt.get(level) ?? 0) + time);
      area += level * time;
      most = Math.max(most, level);
      at += time;
    };
    const endUpTo = (time: number): void => {
      for (; ended < ends.length && ends[ended]! <= time; ended++) {
        advance(ends[ended]!);
        busy -= cpusEnding[ended] ?? 1;
      }
    };
    for (let started = 0; started < starts.length && starts[started]! < seconds; started++) {
      endUpTo(starts[started]!);
      advance(starts[started]!);
      busy += cpusStarting[started] ?? 1;
    }
    endUpTo(seconds);
    advance(seconds);
    return {
      mean: area / seconds / totalCpus,
      p50: medianOf(timeAt, seconds) / totalCpus,
      max: most / totalCpus,
    };
  }

  /** Returns starts and ends in order of time, with the CPUs of each; none if each task uses one. */
  #inOrder(): Ordered {
    const cpus = this.#cpus?.values();
    if (cpus === undefined)
      return { starts: this.#starts.sorted(), ends: this.#ends.sorted(), cpusStarting: [], cpusEnding: [] };
    const ordered = (samples: Samples) => {
      const times = samples.values();
      const order = Uint32Array.from(times, (_, task) => task).sort((a, b) => times[a]! - times[b]!);
      return {
        times: Float64Array.from(order, (task) => times[task]!),
        cpus: Float64Array.from(order, (task) => cpus[task]!),
      };
    };
    const [starts, ends] = [ordered(this.#starts), ordered(this.#ends)];
    return { starts: starts.times, ends: ends.times, cpusStarting: starts.cpus, cpusEnding: ends.cpus };
  }
}

function rounded(seconds: number): number {
  return Math.max(0, Math.round(seconds * PER_SECOND) / PER_SECOND);
}

/** Returns the smallest level that is not exceeded for half of the time. */
function medianOf(timeAt: ReadonlyMap<number, number>, seconds: number): number {
  let seen = 0;
  const levels = [...timeAt].sort(([a], [b]) => a - b);
  for (const [level, time] of levels) {
    seen += time;
    if (seen >= seconds / 2) return level;
  }
  return levels.at(-1)?.[0] ?? 0;
}
