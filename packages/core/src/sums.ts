/** Sum of numbers, or of a number of each item; in their order, since sums of fractions depend on it. */
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

/** Mean of numbers, or of a number of each item; NaN of none. */
export function meanOf(values: ArrayLike<number>): number;
export function meanOf<T>(items: ArrayLike<T>, of: (item: T, index: number) => number): number;
export function meanOf(items: ArrayLike<number>, of?: (item: number, index: number) => number): number {
  return (of === undefined ? sumOf(items) : sumOf(items, of)) / items.length;
}

/** By how much the second of each pair rises with the first, by least squares. */
export function slopeOf(points: readonly (readonly [at: number, value: number])[]): number {
  const [x, y] = [meanOf(points, ([at]) => at), meanOf(points, ([, value]) => value)];
  return meanOf(points, ([at, value]) => (at - x) * (value - y)) / meanOf(points, ([at]) => (at - x) ** 2);
}
