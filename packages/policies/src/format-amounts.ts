import { formatBytes, SLOT, unitsOf, type Vector } from '@goshawk/core';

/** Formats `cpu 0.5, memory 1 GiB`. */
export function formatAmounts(vector: Vector, resources: readonly string[]): string {
  const parts = vector.flatMap((units, index) => {
    const name = resources[index]!;
    return index === SLOT || units === 0 ? [] : [`${name} ${formatAmount(name, units)}`];
  });
  return parts.join(', ') || 'nothing';
}

/** Formats `1 GiB` of memory, and `0.5` of another resource. */
export function formatAmount(name: string, units: number): string {
  return name === 'memory' ? formatBytes(units) : `${units / unitsOf(name)}`;
}
