/**
 * K_RED (Psychas and Ghaderi, INFOCOM 2019, §V-B, eq. 7): 4J − 4 configurations. For any queues the best of them weighs
 * at least 2/3 of any packing (Proposition 1).
 */
export interface Configuration {
  /** Place in the list; of equal weights the first wins. */
  readonly index: number;
  /** Tasks of type 1: 0 or 1. Where it is 1, 2/3 of the server is theirs. */
  readonly large: 0 | 1;
  /** The one type besides type 1. */
  readonly filler: number;
  /** Tasks of the filler's type. */
  readonly fillers: number;
}

/** @param j J, 2 at least */
export function kRed(j: number): readonly Configuration[] {
  const list: Configuration[] = [];
  const add = (large: 0 | 1, filler: number, fillers: number): void => {
    list.push({ index: list.length, large, filler, fillers });
  };
  for (let m = 0; m < j; m++) add(0, 2 * m, 2 ** m);
  for (let m = 1; m < j; m++) add(0, 2 * m + 1, 3 * 2 ** (m - 1));
  for (let m = 2; m < j; m++) add(1, 2 * m, Math.floor(2 ** m / 3));
  for (let m = 1; m < j; m++) add(1, 2 * m + 1, 2 ** (m - 1));
  return list;
}

/** @param queues tasks that wait, by type */
export function weightOf({ large, filler, fillers }: Configuration, queues: ArrayLike<number>): number {
  return large * queues[1]! + fillers * queues[filler]!;
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
