import type { JobClass } from '@goshawk/report';
import { inPercent, settingAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Claim, Figure, Series, Variant } from '../figure.js';
import { agree, at, isMuchBetter, staysWithin, tendsToOne } from '../judging/index.js';
import { lines } from '../panels.js';
import { ratio, type Statistic } from '../series.js';
import { HAWK, PAPER_ALGORITHM } from './paper.js';

/** Highest first, as the paper's multiples of the mean task run time begin with the shortest. */
const LOADS = [0.9, 0.75, 0.6, 0.45];

const VARIANTS: readonly Variant[] = (['live', 'simulated'] as const).flatMap((mode) =>
  ['hawk', 'sparrow'].map((policy) => ({ name: `${policy}, ${mode}`, mode, settings: { policy } })),
);

const of = (mode: 'live' | 'simulated', jobs: JobClass, statistic: Statistic): Series =>
  ratio(`hawk, ${mode}`, `sparrow, ${mode}`, jobs, statistic, `${statistic}, ${mode}`);
const seriesOf = (jobs: JobClass) => ({
  live50: of('live', jobs, 'p50'),
  live90: of('live', jobs, 'p90'),
  simulated50: of('simulated', jobs, 'p50'),
  simulated90: of('simulated', jobs, 'p90'),
});
const short = seriesOf('short');
const long = seriesOf('long');

export const hawk16: Figure = prototype(
  '16',
  'short',
  short,
  claims('§4.10', {
    'Hawk is best at high load, where it significantly improves on Sparrow for short jobs': isMuchBetter(
      [short.live50, short.live90],
      0.2,
      at(0.9),
    ),
    'As load decreases, the 50th percentiles of Hawk and Sparrow become similar': tendsToOne([short.live50]),
    'Even at medium load the 90th percentile of short jobs is considerably better': isMuchBetter(
      [short.live90],
      0.2,
      at(0.75, 0.6),
    ),
    'Simulation and implementation agree and show similar trends (short jobs, within 20%)': agree(
      [
        [short.simulated50, short.live50],
        [short.simulated90, short.live90],
      ],
      0.2,
    ),
  }),
);

export const hawk17: Figure = prototype(
  '17',
  'long',
  long,
  claims('§4.10', {
    'Hawk maintains good performance for long jobs': staysWithin([long.live50, long.live90], {
      least: 0,
      most: 1.1,
    }),
    'Simulation and implementation agree and show similar trends (long jobs, within 20%)': agree(
      [
        [long.simulated50, long.live50],
        [long.simulated90, long.live90],
      ],
      0.2,
    ),
  }),
);

function prototype(
  number: string,
  jobs: JobClass,
  { live50, live90, simulated50, simulated90 }: typeof short,
  claims: readonly Claim[],
): Figure {
  return {
    id: `hawk-${number}`,
    title: `Live against simulated, ${jobs} jobs, by load`,
    paper: HAWK,
    section: `§4.10, Figure ${number}`,
    about:
      'A sample of jobs on a cluster of 10 schedulers and the workers, as processes of this machine, and the same jobs ' +
      'at the same times simulated. Run times under Hawk over those under Sparrow.',
    mode: 'live',
    // The demo's: of so few jobs of a workload with so long a tail, many samples are all tail.
    workload: {
      generator: 'google-like',
      options: 'seed=12',
      jobs: 3_300,
      paperJobs: 3_300,
      isReplaceable: true,
    },
    settings: { ...PAPER_ALGORITHM, workers: 100 },
    axis: settingAxis(
      'load',
      'even',
      LOADS,
      (load) => ({ load }),
      (load) => inPercent(Math.round(100 * load)),
    ),
    variants: VARIANTS,
    panels: [
      lines(`50th percentile, ${jobs} jobs`, 'Hawk ÷ Sparrow', [live50, simulated50]),
      lines(`90th percentile, ${jobs} jobs`, 'Hawk ÷ Sparrow', [live90, simulated90]),
    ],
    claims,
  };
}
