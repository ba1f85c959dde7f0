import { LIMITS } from '@goshawk/core';

/** Maximum number of tasks of one job. */
export const TASKS_MAX = LIMITS.tasksPerJobMax;
/** Maximum of a time or a duration. */
const SECONDS_MAX = LIMITS.durationMaxMs / 1_000;

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** Parses a decimal number; NaN for any other text, such as hexadecimal digits, Infinity and blanks. */
export function decimal(text: string): number {
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}

export function isSeconds(value: number): boolean {
  return value >= 0 && value <= SECONDS_MAX;
}

export function isTaskCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1 && value <= TASKS_MAX;
}

export const SECONDS_ADVICE = `it must be a number of seconds from 0 to ${SECONDS_MAX}`;
export const TASKS_ADVICE = `it must be a whole number from 1 to ${TASKS_MAX}`;

const INSTANT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?\s*(Z|UTC|[-+]\d{2}:?\d{2})?$/i;

/**
 * Parses a date and time to seconds since 1970; without a time zone it is UTC. Undefined for any other text.
 */
export function instantOf(text: string): number | undefined {
  const match = INSTANT.exec(text);
  if (match === null) return undefined;
  const [, date, time = '00:00', zone = 'Z'] = match;
  const digits = zone.replace(':', '');
  const offset = /^[-+]/.test(digits) ? `${digits.slice(0, 3)}:${digits.slice(3)}` : 'Z';
  if (!isDate(date!)) return undefined;
  const ms = Date.parse(`${date}T${time.length < 5 || time[1] === ':' ? '0' : ''}${time}${offset}`);
  if (Number.isNaN(ms) || ms < 0) return undefined;
  // JavaScript moves a day that the month does not have, such as 31 April, to the next month.
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date!) ? ms / 1_000 : undefined;
}

/** `Date.parse` takes 30 February for 2 March. */
function isDate(text: string): boolean {
  const [year, month, day] = text.split('-').map(Number) as [number, number, number];
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/**
 * Parses `[days-][[hours:]minutes:]seconds`, as printed by `sacct`, to seconds. Undefined for any other text.
 */
export function clockOf(text: string): number | undefined {
  const match = /^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d{2}(?:\.\d+)?)$/.exec(text);
  if (match === null) {
    const days = /^(\d+)-(\d+)$/.exec(text);
    return days === null ? undefined : Number(days[1]) * 86_400 + Number(days[2]) * 3_600;
  }
  const [days = 0, hours = 0, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0));
  // Only the first of the given units may exceed the next one.
  const isClock =
    seconds! < 60 && (match[2] === undefined || minutes! < 60) && (match[1] === undefined || hours < 24);
  if (!isClock) return undefined;
  return ((days * 24 + hours) * 60 + minutes!) * 60 + seconds!;
}

const BYTES_OF: Readonly<Record<string, number>> = {
  '': 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
  p: 2 ** 50,
};

/**
 * Parses an amount such as `4096`, `512M`, `4GiB` or `1.5T` to bytes; units are powers of 1,024, as in Slurm.
 * NaN for any other text.
 *
 * @param unit of a plain number
 */
export function bytesOf(text: string, unit = 1): number {
  const match = /^(\d+\.?\d*|\.\d+)[ \t]*([kmgtp]?)(i?b)?$/i.exec(text);
  if (match === null) return decimal(text) >= 0 ? decimal(text) * unit : Number.NaN;
  const [, digits, prefix = '', suffix] = match;
  const factor = prefix === '' && suffix === undefined ? unit : BYTES_OF[prefix.toLowerCase()]!;
  return Math.round(Number(digits) * factor);
}

export const KIB = 2 ** 10;
export const MIB = 2 ** 20;
