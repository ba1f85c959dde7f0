import { bestConfiguration, CAPACITY, type Configuration, kRed, typeOf, weightOf } from '@goshawk/policies';
import type { CaseKind } from './kind.js';

const PARTITION: CaseKind = {
  policy: 'packing',
  accepts: ({ sizes, types }) => Array.isArray(sizes) && typeof types === 'object',
  *check({ sizes, types }) {
    for (const [j, expected] of Object.entries(types)) {
      yield {
        name: `types of J = ${j}`,
        expected,
        got: sizes.map((size: string) => typeOf(unitsOf(size), Number(j))),
      };
    }
  },
};

const K_RED: CaseKind = {
  policy: 'packing',
  accepts: ({ sets }) => typeof sets === 'object',
  *check({ sets }) {
    for (const [j, expected] of Object.entries(sets)) {
      yield { name: `J = ${j}`, expected, got: kRed(Number(j)).map((one) => countsOf(one, Number(j))) };
    }
  },
};

const MAX_WEIGHT: CaseKind = {
  policy: 'packing',
  accepts: ({ cases }) => cases?.[0]?.J >= 2 && Array.isArray(cases[0].Q),
  *check({ cases }) {
    for (const { J, Q, ...expected } of cases) {
      const list = kRed(J);
      const best = bestConfiguration(list, Q);
      yield {
        name: `J = ${J}, Q = ${Q}`,
        expected,
        got: {
          weights: list.map((one) => weightOf(one, Q)),
          index: best?.index ?? null,
          config: best === undefined ? null : countsOf(best, J),
          weight: best === undefined ? 0 : weightOf(best, Q),
        },
      };
    }
  },
};

export const PACKING_CASES: readonly CaseKind[] = [PARTITION, K_RED, MAX_WEIGHT];

/** @param share a fraction of a server as text, `2/3` or `0.4` */
function unitsOf(share: string): number {
  const [above, below = '1'] = share.split('/');
  return Math.ceil((Number(above) * CAPACITY) / Number(below));
}

function countsOf({ large, filler, fillers }: Configuration, j: number): number[] {
  const counts = new Array<number>(2 * j).fill(0);
  if (large === 1) counts[1] = 1;
  counts[filler] = fillers;
  return counts;
}
