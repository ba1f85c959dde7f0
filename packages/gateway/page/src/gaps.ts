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
