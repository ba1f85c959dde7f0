import type { ExpectedEnd, Millis } from '@goshawk/core';

/**
 * Formats a local time: `2026-11-20 09:39:02`. In the hour that occurs twice when clocks go back, the offset from UTC
 * follows: `2026-10-25 02:30:00 +01:00`.
 */
export function localTime(wallMs: Millis): string {
  const at = new Date(wallMs);
  return `${at.getFullYear()}-${monthAndDay(at)} ${timeOfDay(at)}`;
}

/** Formats a local time: `09:39:02` today, `11-20 09:39:02` on another day; with the offset if it occurs twice. */
export function clockTime(wallMs: Millis, now: Millis): string {
  const at = new Date(wallMs);
  const isToday = at.toDateString() === new Date(now).toDateString();
  return isToday ? timeOfDay(at) : `${monthAndDay(at)} ${timeOfDay(at)}`;
}

/** Intervals at least this long are given in minutes. */
const PRECISE_MS = 120_000;

/** When a job is expected to end: `17:26 (17:21 to 17:40)`, with seconds if the interval is short. */
export function expectedEndTime({ at, earliest, latest }: ExpectedEnd, now: Millis): string {
  const isPrecise = latest - earliest < PRECISE_MS;
  const [end, from, to] = [at, earliest, latest].map((time) => {
    const text = clockTime(time, now);
    return isPrecise ? text : text.replace(/(\d\d:\d\d):\d\d/, '$1');
  });
  return `${end} (${from} to ${to})`;
}

function monthAndDay(at: Date): string {
  return `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

function timeOfDay(at: Date): string {
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return occursTwice(at) ? `${time} ${offsetOf(at)}` : time;
}

/** Clocks change by less than this. */
const CHANGE_MAX_MS = 3 * 3_600_000;

/** Whether clocks show this local time a second time, because they go back. */
function occursTwice(at: Date): boolean {
  const offset = at.getTimezoneOffset();
  return [-CHANGE_MAX_MS, CHANGE_MAX_MS].some((distance) => {
    const other = new Date(at.getTime() + distance).getTimezoneOffset();
    const again = new Date(at.getTime() + (other - offset) * 60_000);
    return other !== offset && again.getTimezoneOffset() === other;
  });
}

/** Formats the offset of local time from UTC: `+01:00`. */
function offsetOf(at: Date): string {
  const minutes = Math.abs(at.getTimezoneOffset());
  const sign = at.getTimezoneOffset() > 0 ? '-' : '+';
  return `${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
