import { claims } from '../claims.js';
import type { Figure, Judge } from '../figure.js';
import {
  at,
  between,
  from,
  isLowestAt,
  isMuchBetter,
  isSlightlyWorse,
  rises,
  staysWithin,
} from '../judging/index.js';
import { lines } from '../panels.js';
import { ratio } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_SIZES, HAWK, POLICIES } from './paper.js';

/** What Hawk is compared with. */
const OTHERS = {
  central: {
    section: '§4.5',
    name: 'a centralized scheduler',
    about: 'where one scheduler places all jobs by waiting time, without partition and stealing',
  },
  split: {
    section: '§4.6',
    name: 'a split cluster',
    about: 'of a cluster split in two: 17% of the workers for short jobs only, the others for long ones only',
  },
} as const;

type Other = keyof typeof OTHERS;
type Class = 'short' | 'long';

const ratios = (other: Other, of: Class) =>
  [ratio('hawk', other, of, 'p50'), ratio('hawk', other, of, 'p90')] as const;
const shortToCentral = ratios('central', 'short');
const shortToSplit = ratios('split', 'short');

export const hawk8: Figure = against('central', '8', 'short', {
  'The centralized scheduler penalizes short jobs when the cluster is heavily loaded (10,000–15,000 nodes)':
    isMuchBetter(shortToCentral, 0.1, at(10_000, 15_000)),
  'As utilization decreases it does an increasingly better job for short jobs': rises(
    shortToCentral,
    from(15_000),
  ),
  'At 50,000 nodes the results of both begin to converge': staysWithin(
    shortToCentral,
    { least: 0.8, most: 1.2 },
    at(50_000),
  ),
});

export const hawk9: Figure = against('central', '9', 'long', {
  'For long jobs the centralized scheduler performs slightly better': isSlightlyWorse(
    ratios('central', 'long'),
  ),
});

/** The text has Figures 10 and 11 without saying which shows which; it takes up long jobs first. */
export const hawk10: Figure = against('split', '10', 'long', {
  'For long jobs the split cluster performs slightly better': isSlightlyWorse(ratios('split', 'long')),
});

export const hawk11: Figure = against('split', '11', 'short', {
  'For short jobs Hawk fares significantly better': isMuchBetter(shortToSplit, 0.2, between(15_000, 25_000)),
  'In small clusters the split cluster is less far behind: both suffer from queueing': isLowestAt(
    shortToSplit[0],
    between(15_000, 40_000),
  ),
  'In a large cluster both do well': staysWithin(shortToSplit, { least: 0.8, most: 1.2 }, at(50_000)),
});

/** @param judges what the paper says, and how to tell whether it is so here */
function against(other: Other, number: string, of: Class, judges: Readonly<Record<string, Judge>>): Figure {
  const { section, name, about } = OTHERS[other];
  const title = of === 'short' ? 'Short jobs' : 'Long jobs';
  return {
    id: `hawk-${number}`,
    title: `Hawk against ${name}, ${of} jobs, by size of the cluster`,
    paper: HAWK,
    section: `${section}, Figure ${number}`,
    about: `Run times under Hawk over those ${about}. Below 1, Hawk is faster.`,
    mode: 'simulated',
    workload: GOOGLE,
    settings: GOOGLE_SETTINGS,
    axis: GOOGLE_SIZES,
    variants: [POLICIES.hawk, POLICIES[other]],
    panels: [lines(title, `Hawk ÷ ${other}`, ratios(other, of))],
    claims: claims(section, judges),
  };
}
