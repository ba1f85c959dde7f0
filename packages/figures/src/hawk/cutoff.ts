import { settingAxis, withThousands } from '../axis.js';
import { claims } from '../claims.js';
import type { Claim, Figure, Panel } from '../figure.js';
import { falls, isBetter, isMuchBetter, rises } from '../judging/index.js';
import { lines } from '../panels.js';
import { percentileRatios } from '../series.js';
import { CUTOFFS, GOOGLE, GOOGLE_SETTINGS, GOOGLE_WORKERS, HAWK, POLICIES } from './paper.js';

const { short50, short90, long50, long90 } = percentileRatios('hawk', 'sparrow');
const short = [short50, short90];

/** Seconds. The text names none; these lie around the one that all other figures use. */
const AROUND = ['750', '1000', CUTOFFS.google, '1300', '1500', '2000'];

export const hawk12: Figure = byCutoff('12', 'long', {
  panels: [lines('Long jobs', 'Hawk ÷ Sparrow', [long50, long90])],
  claims: claims('§4.7', {
    'Hawk yields benefits for a range of cutoff values (50th percentile of long jobs)': isBetter([long50]),
    'For smaller cutoffs the 90th percentile of long jobs is affected more under Hawk than under Sparrow':
      falls([long90]),
  }),
});

export const hawk13: Figure = byCutoff('13', 'short', {
  panels: [lines('Short jobs', 'Hawk ÷ Sparrow', short)],
  claims: claims('§4.7', {
    'Hawk yields benefits for a range of cutoff values (short jobs)': isMuchBetter(short, 0.2),
    'For smaller cutoffs Hawk improves the most on Sparrow': rises(short),
  }),
});

function byCutoff(
  number: string,
  of: string,
  { panels, claims }: { readonly panels: readonly Panel[]; readonly claims: readonly Claim[] },
): Figure {
  return {
    id: `hawk-${number}`,
    title: `Hawk against Sparrow by the cutoff between short and long, ${of} jobs`,
    paper: HAWK,
    section: `§4.7, Figure ${number}`,
    about:
      'Run times under Hawk over those under Sparrow. Jobs are short or long by the cutoff of each ' +
      'place, under both.',
    mode: 'simulated',
    workload: GOOGLE,
    settings: { ...GOOGLE_SETTINGS, workers: GOOGLE_WORKERS },
    axis: settingAxis(
      'cutoff, s of mean task run time',
      'linear',
      AROUND,
      (cutoff) => ({ cutoff }),
      (cutoff) => withThousands(Math.round(Number(cutoff))),
    ),
    variants: [POLICIES.hawk, POLICIES.sparrow],
    panels,
    claims,
  };
}
