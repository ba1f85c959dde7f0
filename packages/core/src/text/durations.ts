import { InputError, quoted } from '../errors.js';
import type { Millis } from '../ids.js';
import { LIMITS } from '../limits.js';
import { sumOf } from '../numbers/sums.js';

/** The longest delay of a Node timer; a longer one fires immediately. */
export const TIMER_MAX_MS: Millis = 2 ** 31 - 1;

const UNIT_MS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses `100ms`, `2s`, `1.5m`, `1h30m` or `7d` to milliseconds.
 *
 * @param what names the setting in the error, e.g. `--sleep`
 * @throws InputError if the text is not a duration or is more than `LIMITS.durationMaxMs`; a number without a
 * unit is refused as ambiguous
 */
export function parseDuration(text: string, what: string): Millis {
  const written = text.length > LIMITS.quantityLengthMax ? '' : text.trim();
  const parts = [...written.matchAll(/(\d+(?:\.\d+)?)\s*(us|ms|min|s|m|h|d)/gy)];
  const length = sumOf(parts, (part) => part[0].length);
  if (parts.length === 0 || length !== written.length) {
    throw new InputError(
      'bad-duration',
      `${what}: ${quoted(text)} is not a duration`,
      'write a number with a unit, such as 100ms, 2s, 1.5m or 1h',
    );
  }
  const ms = sumOf(parts, (part) => Number(part[1]) * UNIT_MS[part[2]!]!);
  if (ms <= LIMITS.durationMaxMs) return ms;
  throw new InputError(
    'bad-duration',
    `${what}: ${quoted(text)} is more than ${LIMITS.durationMaxMs / UNIT_MS.d!} days`,
  );
}

/**
 * Formats a duration with three significant digits and a suitable unit: `0.43 ms`, `12.3 s`, `1 h 20 min`, `2 d 1 h`.
 * Every output uses this format, so that one value reads the same in the command, on the page and in reports.
 */
export function formatDuration(ms: Millis): string {
  const sign = ms < 0 ? '-' : '';
  const abs = Math.abs(ms);
  if (abs < 999.5) return `${sign}${Number(abs.toPrecision(3))} ms`;
  if (abs < 59_950) return `${sign}${Number((abs / 1_000).toPrecision(3))} s`;
  const seconds = Math.round(abs / 1_000);
  if (seconds < 3_600) return `${sign}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(abs / 60_000);
  if (minutes < DAYS_FROM_MINUTES) return `${sign}${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  return `${sign}${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Durations from two days are in days and hours. */
const DAYS_FROM_MINUTES = 2 * 24 * 60;

/** Formats an age, such as `3 min ago`, in one unit, rounded down. Clock skew never yields a future time. */
export function ago(ms: Millis): string {
  if (ms < 1_000) return 'just now';
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 60_000 * DAYS_FROM_MINUTES) return `${Math.floor(ms / 3_600_000)} h ago`;
  return `${Math.floor(ms / 86_400_000)} d ago`;
}

/**
 * Time from `now` to the start of the next period, rounded up to whole ms, so that timers with one period
 * fire together.
 */
export function untilNextPeriod(periodMs: Millis, now: Millis): Millis {
  return Math.ceil(periodMs - (now % periodMs));
}
