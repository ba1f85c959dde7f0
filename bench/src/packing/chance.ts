/**
 * How likely it is that draws of one distribution lie as far apart as these: `others` more draws, of which only the least
 * and the greatest are known, `below` of ours under the least and `above` over the greatest.
 *
 * @param ours draws of ours
 * @returns p of a two-sided test of ranks; exact where no two draws are alike
 */
export function chanceOfRanks(
  ours: number,
  others: number,
  { below, above }: { readonly below: number; readonly above: number },
): number {
  return Math.min(1, 2 * Math.min(chanceOutside(ours, others, below), chanceOutside(ours, others, above)));
}

/** That at least so many of ours are under the least of all others: their ranks are any of the later ones. */
function chanceOutside(ours: number, others: number, outside: number): number {
  let chance = 1;
  for (let other = 0; other < others; other++)
    chance *= (ours + others - outside - other) / (ours + others - other);
  return chance;
}
