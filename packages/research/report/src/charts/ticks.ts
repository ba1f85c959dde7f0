export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
}

const TICKS_MAX = 8;
const NEAR_ONE = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4, 1.6, 2];
/** Mantissas of ticks on an axis of ratios, the finest first. */
const RATIO_MANTISSAS = [
  [1, 1.5, 2, 3, 4, 5, 7],
  [1, 2, 5],
] as const;

/**
 * A logarithmic scale for positive values, in log10 throughout. Ticks are at powers of ten; for smaller
 * ranges also at 3, or at 2 and 5, times those; and evenly spaced for the smallest ranges.
 */
export function logScale(least: number, greatest: number): Scale {
  const low = Math.log10(least);
  const high = Math.log10(Math.max(greatest, least * 1.5));
  const pad = (high - low) * 0.02;
  const bounds = { min: low - pad, max: high + pad };
  const span = bounds.max - bounds.min;
  if (span > 4) {
    const decades = withinLog(bounds, [1]);
    const every = Math.ceil(decades.length / TICKS_MAX);
    return { ...bounds, ticks: decades.filter((_, index) => index % every === 0) };
  }
  if (span > 2) return { ...bounds, ticks: withinLog(bounds, [1, 3]) };
  const fine = withinLog(bounds, [1, 2, 5]);
  if (fine.length >= 3) return { ...bounds, ticks: fine };
  const { ticks } = linearScale(10 ** bounds.max, 10 ** bounds.min);
  return { ...bounds, ticks: within(bounds, ticks.filter((tick) => tick > 0).map(Math.log10)) };
}

/** A logarithmic scale for ratios, in log10. It always includes 1, and half lies as far from it as double. */
export function ratioScale(ratios: readonly number[]): Scale {
  const low = Math.log10(Math.min(0.8, ...ratios));
  const high = Math.log10(Math.max(1.25, ...ratios));
  const pad = (high - low) * 0.08;
  const bounds = { min: low - pad, max: high + pad };
  if (bounds.max - bounds.min < 0.6) return { ...bounds, ticks: within(bounds, NEAR_ONE.map(Math.log10)) };
  const finest = RATIO_MANTISSAS.map((mantissas) => withinLog(bounds, mantissas)).find(
    ({ length }) => length <= TICKS_MAX,
  );
  return { ...bounds, ticks: finest ?? withinLog(bounds, [1]) };
}

/** A linear scale from `least` (0 by default) to a round number that is at least `greatest`. */
export function linearScale(greatest: number, least = 0): Scale {
  const step = niceStep((greatest - least) / 5);
  const max = Math.ceil(greatest / step - 1e-9) * step;
  const first = Math.floor(least / step);
  const count = Math.round(max / step) - first;
  const ticks = Array.from({ length: count + 1 }, (_, index) => (first + index) * step);
  return { min: ticks[0]!, max, ticks };
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

function withinLog(bounds: Bounds, mantissas: readonly number[]): number[] {
  const decades = Array.from(
    { length: Math.floor(bounds.max) - Math.floor(bounds.min) + 1 },
    (_, index) => Math.floor(bounds.min) + index,
  );
  return within(
    bounds,
    decades.flatMap((decade) => mantissas.map((mantissa) => decade + Math.log10(mantissa))),
  );
}

function within({ min, max }: Bounds, ticks: readonly number[]): number[] {
  return ticks.filter((tick) => tick >= min && tick <= max);
}

function niceStep(rough: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const mantissa = [1, 2, 2.5, 5, 10].find((each) => each * magnitude >= rough * (1 - 1e-9)) ?? 10;
  return mantissa * magnitude;
}
