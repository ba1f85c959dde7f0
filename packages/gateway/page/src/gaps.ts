import type uPlot from 'uplot';

/** Maximum number of missing points that a line bridges, so that rare values still form a line. */
const BRIDGED = 6;

type Shown = number | null | undefined;

/** Marks missing values between close points as undefined, which the chart bridges; null is a gap. */
export function bridged(values: readonly (number | null)[]): Shown[] {
  let last = Number.NEGATIVE_INFINITY;
  const shown: Shown[] = [...values];
  values.forEach((value, index) => {
    if (value === null) return;
    if (index - last <= BRIDGED) shown.fill(undefined, last + 1, index);
    last = index;
  });
  return shown;
}

/** Returns the indices of points without a line to a neighbor. */
export function isolated(shown: readonly Shown[]): number[] {
  const isNumber = (value: Shown): boolean => typeof value === 'number';
  return shown.flatMap((value, index) => {
    if (!isNumber(value)) return [];
    // A bridge always leads to a point.
    const hasLine = [shown[index - 1], shown[index + 1]].some(
      (beside, side) =>
        isNumber(beside) ||
        (beside === undefined && index + 2 * side - 1 >= 0 && index + 2 * side - 1 < shown.length),
    );
    return hasLine ? [] : [index];
  });
}

/** Points that are further apart are not joined: the recorded points are two minutes apart. Seconds */
const APART = 300;

/** Adds a missing value between points that are far apart, so that no line or area pretends to know what was there. */
export function withGaps(data: uPlot.AlignedData): uPlot.AlignedData {
  const [times, ...rows] = data;
  const ends = [...times.keys()].filter(
    (index) => index + 1 < times.length && times[index + 1]! - times[index]! > APART,
  );
  if (ends.length === 0) return data;
  const spread = <T>(row: ArrayLike<T>, between: (index: number) => T): T[] => {
    let from = 0;
    return [...ends, row.length - 1].flatMap((end, at) => {
      const part = Array.from({ length: end + 1 - from }, (_, index) => row[from + index]!);
      from = end + 1;
      return at < ends.length ? [...part, between(end)] : part;
    });
  };
  return [
    spread(times, (end) => times[end]! + 1),
    ...rows.map((row) => spread<number | null | undefined>(row, () => null)),
  ] as uPlot.AlignedData;
}
