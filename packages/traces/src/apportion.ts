import { sumOf } from '@goshawk/core';
/**
 * Parts of `whole` for stages of these sizes: one each, and of the rest in proportion; what rounding
 * leaves goes where it cut off most.
 */
export function apportion(sizes: readonly number[], whole: number): number[] {
  const rest = Math.max(0, whole - sizes.length);
  const restOfSizes = sizes.reduce((total, size) => total + size - 1, 0);
  const exact = sizes.map((size) => (restOfSizes === 0 ? 0 : ((size - 1) / restOfSizes) * rest));
  const parts = exact.map((part) => 1 + Math.floor(part));
  const left = rest + sizes.length - sumOf(parts);
  const cutOff = (i: number) => exact[i]! - Math.floor(exact[i]!);
  const order = sizes.map((_, i) => i).sort((a, b) => cutOff(b) - cutOff(a) || a - b);
  for (const i of order.slice(0, left)) parts[i]!++;
  return parts;
}
