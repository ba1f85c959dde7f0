import { formatBytes, formatCount, formatDuration } from '@goshawk/core';

const threeDigitsFormat = numberFormat({ minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const twoDigitsFormat = numberFormat({ minimumSignificantDigits: 2, maximumSignificantDigits: 2 });
const shortestFormat = numberFormat({ maximumSignificantDigits: 3 });
const compactFormat = numberFormat({ notation: 'compact', maximumSignificantDigits: 3 });

/**
 * Creates the format at its first use, since the engine loads tables for it that JSON output does not need.
 */
function numberFormat(options: Intl.NumberFormatOptions): Pick<Intl.NumberFormat, 'format'> {
  let made: Intl.NumberFormat | undefined;
  return {
    format: (value: number) => {
      made ??= new Intl.NumberFormat('en-US', options);
      return made.format(value);
    },
  };
}

/** Shown instead of a missing number. */
export const ABSENT = '–';

/** Formats three significant digits, never an exponent: 0.0123, 1.23, 12.3, 123, 20,700. */
export function threeDigits(value: number | null): string {
  if (value === null) return ABSENT;
  return value === 0 ? '0' : threeDigitsFormat.format(value);
}

/** Formats a count with thousands separators. */
export function whole(value: number | null): string {
  return value === null ? ABSENT : formatCount(Math.round(value));
}

/** Formats a count for an axis or a narrow column: 950, 12.3K, 4.5M. */
export function compact(value: number | null): string {
  return value === null ? ABSENT : compactFormat.format(value);
}

/** Formats a share of one as a percentage: 0.873 is 87.3%. */
export function percent(share: number | null): string {
  if (share === null) return ABSENT;
  const digits = (share * 100).toFixed(share > 0 && share < 0.9995 ? 1 : 0);
  return `${digits === '-0' ? '0' : digits}%`;
}

/** Formats a percentage: 87.3 is 87.3%. */
export function ofHundred(value: number | null): string {
  return percent(value === null ? null : value / 100);
}

/** Formats a ratio as a factor: 0.012×, 0.21×, 1.05×, 12.3×, 153×. */
export function factor(ratio: number | null): string {
  if (ratio === null) return ABSENT;
  return `${factorDigits(ratio)}×`;
}

/** Formats the least and greatest of several ratios: 0.19–0.23×. */
export function factorRange(least: number, greatest: number): string {
  return `${factorDigits(least)}–${factorDigits(greatest)}×`;
}

function factorDigits(ratio: number): string {
  if (ratio > 0 && ratio < 0.095) return twoDigitsFormat.format(ratio);
  if (ratio >= 100) return formatCount(Math.round(ratio));
  return ratio.toFixed(ratio < 10 ? 2 : 1);
}

/** Formats a number as an axis tick with its significant digits only: 0.25, 12.5, 20,000. */
export function shortest(value: number): string {
  return value >= 1000 ? formatCount(Math.round(value)) : shortestFormat.format(value);
}

/** The unit of a group of durations: a common unit, so that digits line up. */
interface DurationUnit {
  readonly symbol: 'ms' | 's';
  readonly perSecond: number;
}

const MILLISECONDS: DurationUnit = { symbol: 'ms', perSecond: 1000 };
const SECONDS: DurationUnit = { symbol: 's', perSecond: 1 };
const MILLISECONDS_BELOW_SECONDS = 10;

/** Returns milliseconds while the greatest of the durations is below 10 s, and seconds otherwise. */
export function unitFor(seconds: readonly (number | null)[]): DurationUnit {
  const greatest = Math.max(0, ...seconds.filter((value) => value !== null));
  return greatest < MILLISECONDS_BELOW_SECONDS ? MILLISECONDS : SECONDS;
}

/** Formats a duration in a given unit with three digits, without the unit. */
export function inUnit(seconds: number | null, unit: DurationUnit): string {
  return seconds === null ? ABSENT : threeDigits(seconds * unit.perSecond);
}

/** Formats a single duration as every output does: 4.2 ms, 420 ms, 4.2 s, 5 h 45 min. */
export function duration(seconds: number | null): string {
  return seconds === null ? ABSENT : formatDuration(1_000 * seconds);
}

/** Formats a duration as an axis tick with its significant digits only: 1 ms, 0.5 s, 2,000 s. */
export function tickDuration(seconds: number): string {
  return seconds < 1 ? `${shortestFormat.format(seconds * 1000)} ms` : `${shortestFormat.format(seconds)} s`;
}

/**
 * Returns a format of tick labels for a linear axis of durations up to `greatest` seconds, all in one unit.
 */
export function durationTicks(greatest: number): (seconds: number) => string {
  const unit = greatest < 1 ? MILLISECONDS : SECONDS;
  return (seconds) => `${shortestFormat.format(seconds * unit.perSecond)} ${unit.symbol}`;
}

/** Keeps a number and its unit on one line. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}

/** Formats bytes in binary units: 512 MiB. */
export function bytes(count: number | null): string {
  return count === null ? ABSENT : formatBytes(count);
}
