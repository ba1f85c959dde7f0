/**
 * Measures each variant once per round, and starts each round with a different one, so that other load on the machine
 * affects all equally.
 *
 * @returns by variant, one measurement per round
 */
export async function inTurns<Way, T>(
  ways: readonly Way[],
  rounds: number,
  measure: (way: Way, round: number) => T | Promise<T>,
): Promise<Map<Way, T[]>> {
  const measured = new Map<Way, T[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < ways.length; turn++) {
      const way = ways[(round + turn) % ways.length]!;
      measured.get(way)!.push(await measure(way, round));
    }
  }
  return measured;
}
