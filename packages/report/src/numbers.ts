import { formatCount } from '@goshawk/core';

const threeDigitsFormat = numberFormat({ minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const twoDigitsFormat = numberFormat({ minimumSignificantDigits: 2, maximumSignificantDigits: 2 });
const shortestFormat = numberFormat({ maximumSignificantDigits: 3 });
const compactFormat = numberFormat({ notation: 'compact', maximumSignificantDigits: 3 });

/** Made when it is first used, since the engine loads its tables for it: who prints JSON needs none. */
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

/** Three significant digits, never an exponent: 0.0123, 1.23, 12.3, 123, 20,700. */
export function threeDigits(value: number | null): string {
  if (value === null) return ABSENT;
  return value === 0 ? '0' : threeDigitsFormat.format(value);
}

/** A count, with thousands apart. */
export function whole(value: number | null): string {
  return value === null ? ABSENT : formatCount(Math.round(value));
}

/** A count as an axis or a narrow column shows it: 950, 12.3K, 4.5M. */
export function compact(value: number | null): string {
  return value === null ? ABSENT : compactFormat.format(value);
}

/** A share of one as a percentage: 0.873 is 87.3%. */
export function percent(share: number | null): string {
  if (share === null) return ABSENT;
  const digits = (share * 100).toFixed(share > 0 && share < 0.9995 ? 1 : 0);
  return `${digits === '-0' ? '0' : digits}%`;
}

/** A percentage: 87.3 is 87.3%. */
export function ofHundred(value: number | null): string {
  return percent(value === null ? null : value / 100);
}

/** A ratio as a factor: 0.012×, 0.21×, 1.05×, 12.3×, 153×. */
export function factor(ratio: number | null): string {
  if (ratio === null) return ABSENT;
  return `${factorDigits(ratio)}×`;
}

/** The least and the greatest of several ratios: 0.19–0.23×. */
export function factorRange(least: number, greatest: number): string {
  return `${factorDigits(least)}–${factorDigits(greatest)}×`;
}

function factorDigits(ratio: number): string {
  if (ratio > 0 && ratio < 0.095) return twoDigitsFormat.format(ratio);
  if (ratio >= 100) return formatCount(Math.round(ratio));
  return ratio.toFixed(ratio < 10 ? 2 : 1);
}

/** A number as the tick of an axis shows it, no more digits than it has: 0.25, 12.5, 20,000. */
export function shortest(value: number): string {
  return value >= 1000 ? formatCount(Math.round(value)) : shortestFormat.format(value);
}

/** The unit in which a group of durations is easiest to compare: one unit, so that digits line up. */
interface DurationUnit {
  readonly symbol: 'ms' | 's';
  readonly perSecond: number;
}

const MILLISECONDS: DurationUnit = { symbol: 'ms', perSecond: 1000 };
const SECONDS: DurationUnit = { symbol: 's', perSecond: 1 };
const MILLISECONDS_BELOW_SECONDS = 10;

/** Milliseconds while the greatest of the durations stays under 10 s, seconds from there. */
export function unitFor(seconds: readonly (number | null)[]): DurationUnit {
  const greatest = Math.max(0, ...seconds.filter((value) => value !== null));
  return greatest < MILLISECONDS_BELOW_SECONDS ? MILLISECONDS : SECONDS;
}

/** The number of a duration in a given unit, three digits, without the unit. */
export function inUnit(seconds: number | null, unit: DurationUnit): string {
  return seconds === null ? ABSENT : threeDigits(seconds * unit.perSecond);
}

/** A duration that stands alone, with its unit: 4.20 ms, 420 ms, 4.20 s, 20,700 s. */
export function duration(seconds: number | null): string {
  if (seconds === null) return ABSENT;
  const unit = seconds < 1 ? MILLISECONDS : SECONDS;
  return `${inUnit(seconds, unit)} ${unit.symbol}`;
}

/** A duration as the tick of an axis shows it, no more digits than it has: 1 ms, 0.5 s, 2,000 s. */
export function tickDuration(seconds: number): string {
  return seconds < 1 ? `${shortestFormat.format(seconds * 1000)} ms` : `${shortestFormat.format(seconds)} s`;
}

/** Tick labels for a linear axis of durations up to `greatest` seconds, all in one unit. */
export function durationTicks(greatest: number): (seconds: number) => string {
  const unit = greatest < 1 ? MILLISECONDS : SECONDS;
  return (seconds) => `${shortestFormat.format(seconds * unit.perSecond)} ${unit.symbol}`;
}

/** Seconds as a person reads a length of time: 42 s, 12.5 min, 3.2 h, 29 days. */
export function span(seconds: number): string {
  if (seconds < 120) return tickDuration(seconds);
  if (seconds < 7200) return `${shortestFormat.format(seconds / 60)} min`;
  if (seconds < 172_800) return `${shortestFormat.format(seconds / 3600)} h`;
  return `${shortestFormat.format(seconds / 86_400)} days`;
}

/** Keeps a number and its unit on one line. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}

/** Bytes in binary units: 512 MiB. */
export function bytes(count: number | null): string {
  if (count === null) return ABSENT;
  const gibibytes = count / 2 ** 30;
  return gibibytes >= 1
    ? `${shortestFormat.format(gibibytes)} GiB`
    : `${shortestFormat.format(count / 2 ** 20)} MiB`;
}
