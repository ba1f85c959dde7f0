/** Sets of partitions, as bits. */
export type PartitionSet = bigint;

export function setOf(partitions: readonly number[]): PartitionSet {
  return partitions.reduce((set, partition) => set | (1n << BigInt(partition)), 0n);
}

export function isWithin(part: PartitionSet, whole: PartitionSet): boolean {
  return (part & ~whole) === 0n;
}

export function has(set: PartitionSet, partition: number): boolean {
  return ((set >> BigInt(partition)) & 1n) === 1n;
}

/**
 * All unions of some of the sets, in a deterministic order.
 *
 * @returns undefined if there are more than `most`
 */
export function unionsOf(sets: readonly PartitionSet[], most: number): PartitionSet[] | undefined {
  const unions = new Set<PartitionSet>();
  for (const set of sets) {
    const more = [set, ...Array.from(unions, (union) => union | set)];
    for (const union of more) unions.add(union);
    if (unions.size > most) return undefined;
  }
  return [...unions];
}
