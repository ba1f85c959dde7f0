import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import {
  at,
  bestFactor,
  bestImprovement,
  between,
  from,
  isBelow,
  isBetter,
  isLowestAt,
  isMuchBetter,
  isSlightlyBetter,
  isSlightlyWorse,
  shareReaches,
  tendsToOne,
} from '../judging/index.js';
import { lines, table } from '../panels.js';
import { busy, percentileRatios, ratio, shareOfJobs, stated } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_SIZES, HAWK, POLICIES } from './paper.js';

const { short50, short90, long50, long90 } = percentileRatios('hawk', 'sparrow');
const shortMean = ratio('hawk', 'sparrow', 'short', 'mean');
const longMean = ratio('hawk', 'sparrow', 'long', 'mean');
/** The shares are stated for 15,000 nodes. */
const share = (jobs: 'short' | 'long', how: 'betterOrEqual' | 'improved' | 'improvedByHalf', paper: number) =>
  stated(shareOfJobs('hawk', 'sparrow', jobs, how), [[15_000, paper]]);
const betterOrEqual = {
  short: share('short', 'betterOrEqual', 0.86),
  long: share('long', 'betterOrEqual', 0.72),
};
const improved = { short: share('short', 'improved', 0.68), long: share('long', 'improved', 0.51) };
const improvedByHalf = share('short', 'improvedByHalf', 0.59);

/** "Highly loaded but not overloaded". */
const loaded = between(15_000, 25_000);

export const hawk5: Figure = {
  id: 'hawk-5',
  title: 'Hawk against Sparrow on the Google trace, by size of the cluster',
  paper: HAWK,
  section: '§4.2, Figure 5',
  about: 'Run times under Hawk over those under Sparrow, on the same jobs. Below 1, Hawk is faster.',
  mode: 'simulated',
  workload: GOOGLE,
  settings: GOOGLE_SETTINGS,
  axis: GOOGLE_SIZES,
  variants: [POLICIES.hawk, POLICIES.sparrow],
  pairs: [{ of: 'hawk', over: 'sparrow' }],
  panels: [
    lines('(a) Long jobs', 'Hawk ÷ Sparrow', [long50, long90]),
    lines('(b) Short jobs', 'Hawk ÷ Sparrow', [short50, short90]),
    lines('(c) Jobs that fare no worse under Hawk', 'share of jobs', [
      betterOrEqual.short,
      betterOrEqual.long,
    ]),
    lines('(c) Average run time', 'Hawk ÷ Sparrow', [shortMean, longMean]),
    lines('Busy workers, median while jobs are submitted', 'share of workers', [
      busy('sparrow'),
      busy('hawk'),
    ]),
    table('Jobs that fare better', [improved.short, improvedByHalf, improved.long]),
  ],
  claims: claims('§4.2', {
    'In the best case Hawk improves the 50th percentile run time of short jobs by 80%': bestImprovement(
      short50,
      0.8,
    ),
    'In the best case Hawk improves the 90th percentile run time of short jobs by 90%': bestImprovement(
      short90,
      0.9,
    ),
    'In the best case Hawk improves the 50th percentile run time of long jobs by 35%': bestImprovement(
      long50,
      0.35,
    ),
    'In the best case Hawk improves the 90th percentile run time of long jobs by 10%': bestImprovement(
      long90,
      0.1,
    ),
    'Hawk consistently outperforms Sparrow (short jobs, at every size)': isBetter([short50, short90]),
    'Improvements are significant when the cluster is highly loaded but not overloaded (15,000–25,000 nodes)':
      isMuchBetter([short50, short90], 0.2, loaded),
    'They are greatest there': isLowestAt(short90, loaded),
    'The 90th percentile of short jobs improves more than the 50th': isBelow(short90, short50, loaded),
    'The average run time of short jobs is as low as a factor of 7 below Sparrow’s': bestFactor(shortMean, 7),
    'At 15,000 nodes Hawk improves 68% of short jobs': shareReaches(improved.short, 0.68, at(15_000)),
    'At 15,000 nodes 59% of short jobs improve by more than half': shareReaches(
      improvedByHalf,
      0.59,
      at(15_000),
    ),
    'At 15,000 nodes 86% of short jobs are better or equal': shareReaches(
      betterOrEqual.short,
      0.86,
      at(15_000),
    ),
    'At 15,000 nodes Hawk improves 51% of long jobs': shareReaches(improved.long, 0.51, at(15_000)),
    'At 15,000 nodes 72% of long jobs are better or equal': shareReaches(
      betterOrEqual.long,
      0.72,
      at(15_000),
    ),
    'At 10,000 nodes, overloaded, Hawk is just slightly worse for long jobs': isSlightlyWorse(
      [long50, long90],
      at(10_000),
    ),
    'At 10,000 nodes Hawk is better for short jobs, but not by much': isSlightlyBetter(
      [short50, short90],
      at(10_000),
    ),
    'From 40,000 nodes on the benefits decrease, as the cluster becomes mostly idle': tendsToOne(
      [short50, short90, long50, long90],
      from(25_000),
    ),
  }),
};
