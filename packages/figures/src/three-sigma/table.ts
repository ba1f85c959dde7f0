import { ONE_PLACE } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure, Judge, Series, Variant } from '../figure.js';
import { format } from '../format.js';
import { isBelow } from '../judging/index.js';
import { everywhere, judging, said } from '../judging/places.js';
import { bars } from '../panels.js';
import { bestEffortSeconds, FIELD, goodput, misses, SIGMA, THREE_SIGMA } from './common.js';

type Half = 'live' | 'simulated';
const HALVES: readonly Half[] = ['live', 'simulated'];
const SHOWN = FIELD.flatMap((policy) => HALVES.map((half) => nameOf(policy, half)));

const VARIANTS: readonly Variant[] = FIELD.flatMap((policy) =>
  HALVES.map((mode) => ({
    name: nameOf(policy, mode),
    mode,
    settings: { policy, estimator: policy === 'point-perf' ? 'oracle' : 'history' },
  })),
);

export const table2: Figure = {
  id: '3sigma-table-2',
  title: 'Deadlines, live and simulated',
  paper: THREE_SIGMA,
  section: '§6.1, Table 2',
  about:
    'Jobs at a load of 1.4, half of them with a deadline, on workers in 8 racks and one scheduler, as processes of this ' +
    'machine, and the same jobs at the same times simulated. All times are divided alike, those of the policies too; what is ' +
    'not known of run times is learnt on the way.',
  mode: 'live',
  workload: { generator: 'e2e', options: 'nodes=32', jobs: 240, paperJobs: 600, isReplaceable: false },
  settings: {
    workers: 32,
    schedulers: 1,
    load: 1.4,
    scale: 10,
    durations: 'task',
    attribute: ['rack=r1,r2,r3,r4,r5,r6,r7,r8'],
    set: ['cycleMs=10000', 'afterDeadline=abandon'],
  },
  axis: ONE_PLACE,
  variants: VARIANTS,
  panels: [
    bars('Jobs with a deadline that missed it', 'share of them', SHOWN.map(misses)),
    bars('Goodput', 'slot hours', SHOWN.map(goodput)),
    bars('Best-effort jobs, mean time to completion', 'seconds', SHOWN.map(bestEffortSeconds)),
  ],
  claims: claims('§6.1', {
    'Misses, live and simulated, are 0.3 to 2% of the jobs apart (accepted: 3%)': areNear(misses, 0.03),
    'Goodput is about 5% apart (accepted: 5%)': areAlike(goodput, 0.05),
    'The latency of best-effort jobs is about 10 s apart (accepted: 10%)': areAlike(bestEffortSeconds, 0.1),
    ...Object.fromEntries(
      HALVES.flatMap((half) =>
        ['point-real', 'prio'].map((other) => [
          `3Sigma misses fewer than ${other}, ${half}`,
          isBelow(misses(nameOf(SIGMA, half)), misses(nameOf(other, half))),
        ]),
      ),
    ),
  }),
};

function nameOf(policy: string, half: Half): string {
  return `${policy}, ${half}`;
}

/** No policy is further apart; in direction up to twice as far. */
function areNear(of: (name: string) => Series, by: number): Judge {
  return apart(of, (live, simulated) => Math.abs(live - simulated), by);
}

/** The same as shares of what was simulated. */
function areAlike(of: (name: string) => Series, by: number): Judge {
  return apart(of, (live, simulated) => Math.abs(live / simulated - 1), by);
}

function apart(
  of: (name: string) => Series,
  difference: (live: number, simulated: number) => number,
  by: number,
): Judge {
  return judging(SHOWN.map(of), everywhere, ([place]) => {
    const differences = FIELD.map((_, i) => difference(place!.values[2 * i]!, place!.values[2 * i + 1]!));
    const shown = FIELD.map((policy, i) => `${policy} ${format(differences[i], 'share')}`);
    const most = Math.max(...differences);
    return said(shown.join(', '), most <= by, most <= 2 * by);
  });
}
