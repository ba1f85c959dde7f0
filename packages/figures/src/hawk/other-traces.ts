import { workersAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { bestImprovement, isBetter, isLowestAt, staysWithin } from '../judging/index.js';
import { lines } from '../panels.js';
import { busy, percentileRatios } from '../series.js';
import { CUTOFFS, HAWK, PAPER_ALGORITHM, POLICIES, SHORT_PARTITIONS } from './paper.js';

const { short50, short90, long50, long90 } = percentileRatios('hawk', 'sparrow');

/** Of the size at which the work submitted is 90% of what the workers can do: as 10,000–50,000 is to 15,000. */
const SIZES = [2 / 3, 1, 4 / 3, 5 / 3, 2, 8 / 3, 10 / 3];

interface Trace {
  readonly name: 'cloudera' | 'facebook' | 'yahoo';
  readonly title: string;
  /** The size at 90% load. */
  readonly workers: number;
  readonly jobs: number;
  readonly paperJobs: number;
}

/** The text says which traces, not which sizes. */
const TRACES: readonly Trace[] = [
  { name: 'cloudera', title: 'Cloudera C', workers: 15_000, jobs: 7_000, paperJobs: 21_030 },
  { name: 'facebook', title: 'Facebook 2010', workers: 60_000, jobs: 50_000, paperJobs: 1_169_117 },
  { name: 'yahoo', title: 'Yahoo 2011', workers: 4_000, jobs: 24_262, paperJobs: 24_262 },
];

export const hawk6: readonly Figure[] = TRACES.map(figureOf);

function figureOf({ name, title, workers, jobs, paperJobs }: Trace): Figure {
  const loaded = (x: number) => x >= workers && x <= 2 * workers;
  return {
    id: `hawk-6-${name}`,
    title: `Hawk against Sparrow on the ${title} workload, by size of the cluster`,
    paper: HAWK,
    section: '§4.3, Figure 6',
    about: `Run times under Hawk over those under Sparrow. At ${workers.toLocaleString('en-US')} workers the work submitted is 90% of what they can do.`,
    mode: 'simulated',
    workload: {
      generator: name,
      // As in the authors' own trace of this kind; under twice the mean their cutoffs do not fit (docs/USE.md).
      options: `deviation=root,workers=${workers}`,
      jobs,
      paperJobs,
      isReplaceable: true,
    },
    settings: { ...PAPER_ALGORITHM, cutoff: CUTOFFS[name], shortPartition: SHORT_PARTITIONS[name] },
    axis: workersAxis(SIZES.map((size) => Math.round(size * workers))),
    variants: [POLICIES.hawk, POLICIES.sparrow],
    panels: [
      lines('Short jobs', 'Hawk ÷ Sparrow', [short50, short90]),
      lines('Long jobs', 'Hawk ÷ Sparrow', [long50, long90]),
      lines('Busy workers, median while jobs are submitted', 'share of workers', [
        busy('sparrow'),
        busy('hawk'),
      ]),
    ],
    claims: [
      ...claims('§4', {
        'The benefits hold across all workloads (short jobs, at every size)': isBetter([short50, short90]),
        'Long jobs, too, are no worse than under Sparrow': staysWithin(
          [long50, long90],
          { least: 0, most: 1.1 },
          (x) => x >= workers,
        ),
      }),
      ...claims('§1', {
        'The improvements are greatest under high load': isLowestAt(short90, loaded),
      }),
      ...claims('§4.3', {
        'The 50th percentile of short jobs improves more than on the Google trace (80%)': bestImprovement(
          short50,
          0.8,
        ),
        'The 90th percentile of short jobs improves more than on the Google trace (90%)': bestImprovement(
          short90,
          0.9,
        ),
      }),
    ],
  };
}
