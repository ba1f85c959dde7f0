import { sumOf } from '@goshawk/core';
import { VERDICTS, type Verdict } from '../figure.js';

/** Marks that distinguish verdicts without color. */
export const VERDICT_MARKS: Readonly<Record<Verdict, string>> = {
  holds: '✓',
  'in direction': '~',
  'does not hold': '✗',
  'not confirmed': '?',
  'not judged': '–',
};

/** "9 of 12 claims hold, 2 in direction, 1 does not": for one figure or several. */
export function verdictLine(verdicts: Readonly<Record<Verdict, number>>): string {
  const total = sumOf(VERDICTS, (verdict) => verdicts[verdict]);
  const rest = [
    [verdicts['in direction'], 'in direction'],
    [verdicts['does not hold'], verdicts['does not hold'] === 1 ? 'does not' : 'do not'],
    [verdicts['not confirmed'], 'not confirmed'],
    [verdicts['not judged'], 'not judged'],
  ] as const;
  const held = `${verdicts.holds} of ${total} ${total === 1 ? 'claim' : 'claims'} ${verdicts.holds === 1 ? 'holds' : 'hold'}`;
  return [held, ...rest.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`)].join(
    ', ',
  );
}

export function addVerdicts(all: readonly Readonly<Record<Verdict, number>>[]): Record<Verdict, number> {
  const sums = VERDICTS.map((verdict) => [verdict, sumOf(all, (each) => each[verdict])]);
  return Object.fromEntries(sums) as Record<Verdict, number>;
}
