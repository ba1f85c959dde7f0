import type { Claim, Figure, Panel } from '../figure.js';
import { at, between, isLowestAt, isMuchBetter, isSlightlyWorse, staysWithin } from '../judging/index.js';
import { ratio } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_SIZES, HAWK, POLICIES } from './paper.js';

const short50 = ratio('hawk', 'split', 'short', 'p50');
const short90 = ratio('hawk', 'split', 'short', 'p90');
const long = [ratio('hawk', 'split', 'long', 'p50'), ratio('hawk', 'split', 'long', 'p90')];

/** Neither small nor large. */
const inBetween = between(15_000, 40_000);

/** The text has Figures 10 and 11 without saying which shows which; it takes up long jobs first. */
export const hawk10: Figure = againstSplit('10', 'long', {
  panels: [{ kind: 'lines', title: 'Long jobs', axisName: 'Hawk ÷ split', series: long }],
  claims: [
    {
      section: '§4.6',
      text: 'For long jobs the split cluster performs slightly better',
      judge: isSlightlyWorse(long),
    },
  ],
});

export const hawk11: Figure = againstSplit('11', 'short', {
  panels: [{ kind: 'lines', title: 'Short jobs', axisName: 'Hawk ÷ split', series: [short50, short90] }],
  claims: [
    {
      section: '§4.6',
      text: 'For short jobs Hawk fares significantly better',
      judge: isMuchBetter([short50, short90], 0.2, between(15_000, 25_000)),
    },
    {
      section: '§4.6',
      text: 'In small clusters the split cluster is less far behind: both suffer from queueing',
      judge: isLowestAt(short50, inBetween),
    },
    {
      section: '§4.6',
      text: 'In a large cluster both do well',
      judge: staysWithin([short50, short90], { least: 0.8, most: 1.2 }, at(50_000)),
    },
  ],
});

function againstSplit(
  number: string,
  of: string,
  { panels, claims }: { readonly panels: readonly Panel[]; readonly claims: readonly Claim[] },
): Figure {
  return {
    id: `hawk-${number}`,
    title: `Hawk against a split cluster, ${of} jobs, by size of the cluster`,
    paper: HAWK,
    section: `§4.6, Figure ${number}`,
    about:
      'Run times under Hawk over those of a cluster split in two: 17% of the workers for short jobs only, the others for ' +
      'long ones only. Below 1, Hawk is faster.',
    mode: 'simulated',
    workload: GOOGLE,
    settings: GOOGLE_SETTINGS,
    axis: GOOGLE_SIZES,
    variants: [POLICIES.hawk, POLICIES.split],
    panels,
    claims,
  };
}
