import type { Claim, Figure, Panel } from '../figure.js';
import { at, from, isMuchBetter, isSlightlyWorse, rises, staysWithin } from '../judging/index.js';
import { ratio } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_SIZES, HAWK, POLICIES } from './paper.js';

const short = [ratio('hawk', 'central', 'short', 'p50'), ratio('hawk', 'central', 'short', 'p90')];
const long = [ratio('hawk', 'central', 'long', 'p50'), ratio('hawk', 'central', 'long', 'p90')];

export const hawk8: Figure = againstCentral('8', 'short', {
  panels: [{ kind: 'lines', title: 'Short jobs', axisName: 'Hawk ÷ central', series: short }],
  claims: [
    {
      section: '§4.5',
      text: 'The centralized scheduler penalizes short jobs when the cluster is heavily loaded (10,000–15,000 nodes)',
      judge: isMuchBetter(short, 0.1, at(10_000, 15_000)),
    },
    {
      section: '§4.5',
      text: 'As utilization decreases it does an increasingly better job for short jobs',
      judge: rises(short, from(15_000)),
    },
    {
      section: '§4.5',
      text: 'At 50,000 nodes the results of both begin to converge',
      judge: staysWithin(short, { least: 0.8, most: 1.2 }, at(50_000)),
    },
  ],
});

export const hawk9: Figure = againstCentral('9', 'long', {
  panels: [{ kind: 'lines', title: 'Long jobs', axisName: 'Hawk ÷ central', series: long }],
  claims: [
    {
      section: '§4.5',
      text: 'For long jobs the centralized scheduler performs slightly better',
      judge: isSlightlyWorse(long),
    },
  ],
});

function againstCentral(
  number: string,
  of: string,
  { panels, claims }: { readonly panels: readonly Panel[]; readonly claims: readonly Claim[] },
): Figure {
  return {
    id: `hawk-${number}`,
    title: `Hawk against a centralized scheduler, ${of} jobs, by size of the cluster`,
    paper: HAWK,
    section: `§4.5, Figure ${number}`,
    about:
      'Run times under Hawk over those where one scheduler places all jobs by waiting time, without partition and ' +
      'stealing. Below 1, Hawk is faster.',
    mode: 'simulated',
    workload: GOOGLE,
    settings: GOOGLE_SETTINGS,
    axis: GOOGLE_SIZES,
    variants: [POLICIES.hawk, POLICIES.central],
    panels,
    claims,
  };
}
