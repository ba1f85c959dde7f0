/** Sum of numbers, or of a number of each item. Sums in order, because floating-point sums depend on it. */
export function sumOf(values: ArrayLike<number>): number;
export function sumOf<T>(items: ArrayLike<T>, of: (item: T, index: number) => number): number;
export function sumOf(
  items: ArrayLike<number>,
  of: (item: number, index: number) => number = (value) => value,
): number {
  let sum = 0;
  for (let i = 0; i < items.length; i++) sum += of(items[i]!, i);
  return sum;
}

/** Mean of numbers, or of a number of each item; NaN if there are none. */
export function meanOf(values: ArrayLike<number>): number;
export function meanOf<T>(items: ArrayLike<T>, of: (item: T, index: number) => number): number;
export function meanOf(items: ArrayLike<number>, of?: (item: number, index: number) => number): number {
  return (of === undefined ? sumOf(items) : sumOf(items, of)) / items.length;
}

/** Slope of the least-squares line through the points. */
export function slopeOf(points: readonly (readonly [at: number, value: number])[]): number {
  const [x, y] = [meanOf(points, ([at]) => at), meanOf(points, ([, value]) => value)];
  return meanOf(points, ([at, value]) => (at - x) * (value - y)) / meanOf(points, ([at]) => (at - x) ** 2);
}
