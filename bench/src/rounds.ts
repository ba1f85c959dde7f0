/**
 * Measures each way once a round, and each round begins with another one: what the machine does beside hits all alike.
 *
 * @returns by way, a measurement a round
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
