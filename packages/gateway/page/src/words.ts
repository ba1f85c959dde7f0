import {
  counted,
  formatBytes,
  formatCount,
  formatDuration,
  hashText,
  type Millis,
  scramble,
} from '@goshawk/core';

/** Texts of values. The formats are those of the command and of reports. */

export const ABSENT = '–';

export function duration(seconds: number | null | undefined): string {
  return seconds === null || seconds === undefined ? ABSENT : formatDuration(1_000 * seconds);
}

/** Formats a duration that still grows, in whole seconds. */
export function elapsed(ms: Millis): string {
  return formatDuration(1_000 * Math.max(0, Math.floor(ms / 1_000)));
}

/** Formats an amount of a resource: `3 GiB memory`, `2 gpu`. */
export function amount(name: string, value: number): string {
  return `${amountOf(name, value)} ${name}`;
}

/** Formats an amount of a resource without its name. */
export function amountOf(name: string, value: number): string {
  return name === 'memory' ? formatBytes(value) : formatCount(Number(value.toFixed(2)));
}

export function amounts(all: Readonly<Record<string, number>>): string {
  return Object.entries(all)
    .map(([name, value]) => amount(name, value))
    .join(', ');
}

const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const SHORT_TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** Formats a local time: `22:31:05` today, `11-26 22:31:05` on another day. */
export function clock(time: string | number, now: Millis = Date.now()): string {
  const at = new Date(time);
  const isToday = at.toDateString() === new Date(now).toDateString();
  const two = (value: number) => String(value).padStart(2, '0');
  return `${isToday ? '' : `${two(at.getMonth() + 1)}-${two(at.getDate())} `}${TIME.format(at)}`;
}

/** Formats a local time without seconds. */
export function minute(ms: Millis): string {
  return SHORT_TIME.format(ms);
}

/** Returns the color of all jobs with this name and user, the same in each window. */
export function colourOf(user: string | null, name: string, isDark: boolean): string {
  const bits = scramble(hashText(`${user ?? ''} ${name}`));
  // Red is reserved for failures.
  const hue = 25 + (bits % 310);
  const light = (bits >>> 16) % 3;
  return `hsl(${hue} ${52 + 6 * light}% ${isDark ? 58 + 5 * light : 44 + 5 * light}%)`;
}

/** Lists numbers with their nouns: `2 errors, 1 warning`; zero is left out. */
export function countedAll(all: readonly (readonly [count: number, noun: string])[]): string {
  return all
    .filter(([count]) => count > 0)
    .map(([count, noun]) => counted(count, noun))
    .join(', ');
}
