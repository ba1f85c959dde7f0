import { Samples } from '@goshawk/core';
import type { UtilisationLevels } from './comparison.js';

/** Times are rounded to this resolution, so that consecutive tasks of a slot do not overlap. */
const PER_SECOND = 1e6;

/** Counts busy slots over time exactly, from the starts and ends of all tasks (16 bytes per task). */
export class BusyTime {
  readonly #starts = new Samples();
  readonly #ends = new Samples();

  /** Marks a slot as busy in an interval, in seconds since the run began. */
  add(fromSeconds: number, toSeconds: number): void {
    const [from, to] = [fromSeconds, toSeconds].map((seconds) =>
      Math.max(0, Math.round(seconds * PER_SECOND) / PER_SECOND),
    ) as [number, number];
    if (to <= from) return;
    this.#starts.push(from);
    this.#ends.push(to);
  }

  /**
   * Returns the share of busy slots up to a time: its mean, median and maximum over time. All are null if no
   * time has passed.
   */
  until(seconds: number, totalSlots: number): UtilisationLevels {
    if (!(seconds > 0)) return { mean: null, p50: null, max: null };
    const [starts, ends] = [this.#starts.sorted(), this.#ends.sorted()];
    const timeAt = new Map<number, number>();
    let [area, busy, at, most] = [0, 0, 0, 0];
    let ended = 0;
    const advance = (to: number): void => {
      const time = Math.min(to, seconds) - at;
      if (time <= 0) return;
      // Start times are slightly inexact, so a slot may seem to run two consecutive tasks at once.
      const level = Math.min(busy, totalSlots);
      timeAt.set(level, (timeAt.get(level) ?? 0) + time);
      area += level * time;
      most = Math.max(most, level);
      at += time;
    };
    const endUpTo = (time: number): void => {
      for (; ended < ends.length && ends[ended]! <= time; ended++) {
        advance(ends[ended]!);
        busy--;
      }
    };
    for (let started = 0; started < starts.length && starts[started]! < seconds; started++) {
      endUpTo(starts[started]!);
      advance(starts[started]!);
      busy++;
    }
    endUpTo(seconds);
    advance(seconds);
    return {
      mean: area / seconds / totalSlots,
      p50: medianOf(timeAt, seconds) / totalSlots,
      max: most / totalSlots,
    };
  }
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
