/**
 * K_RED (Psychas and Ghaderi, INFOCOM 2019, §V-B, eq. 7): 4J − 4 configurations. For any queues the best of them weighs
 * at least 2/3 of any packing (Proposition 1).
 */
export interface Configuration {
  /** Tasks of the large type, 1: none or one. With one, 2/3 of the server are its own. */
  readonly large: 0 | 1;
  readonly largeType: number;
  /** The one type besides the large one. */
  readonly filler: number;
  /** Tasks of the filler's type. */
  readonly fillers: number;
}

/**
 * @param j J, 2 at least
 * @param offset of the types: 2n for a server of 2^-n of the capacity that types are relative to
 */
export function kRed(j: number, offset = 0): readonly Configuration[] {
  const list: Configuration[] = [];
  const add = (large: 0 | 1, filler: number, fillers: number): void => {
    list.push({ large, largeType: 1 + offset, filler: filler + offset, fillers });
  };
  for (let m = 0; m < j; m++) add(0, 2 * m, 2 ** m);
  for (let m = 1; m < j; m++) add(0, 2 * m + 1, 3 * 2 ** (m - 1));
  for (let m = 2; m < j; m++) add(1, 2 * m, Math.floor(2 ** m / 3));
  for (let m = 1; m < j; m++) add(1, 2 * m + 1, 2 ** (m - 1));
  return list;
}

/** @param queues tasks that wait, by type */
export function weightOf(configuration: Configuration, queues: ArrayLike<number>): number {
  const { large, largeType, filler, fillers } = configuration;
  return (large === 1 ? queues[largeType]! : 0) + fillers * queues[filler]!;
}

/** The configuration of largest weight, the first of the list where several are; undefined where all weigh 0. */
export function bestConfiguration(
  list: readonly Configuration[],
  queues: ArrayLike<number>,
): Configuration | undefined {
  let best: Configuration | undefined;
  let largest = 0;
  for (const configuration of list) {
    const weight = weightOf(configuration, queues);
    if (weight <= largest) continue;
    best = configuration;
    largest = weight;
  }
  return best;
}
