import { ONE_PLACE } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { isAtMost, shareIsAbout, shareIsAtLeast, shareStaysBelow } from '../judging/index.js';
import { table } from '../panels.js';
import { busy, seconds, shareLonger, stated } from '../series.js';
import { CUTOFFS, HAWK, PAPER_ALGORITHM, POLICIES, SHORT_PARTITIONS } from './paper.js';

/** What the paper calls a large fraction. */
const LARGE = 0.25;

const sparrowBusy = stated(busy('sparrow'), [[0, 0.86]]);
const sparrowBusiest = stated(busy('sparrow', 'max'), [[0, 0.978]]);
const stuck = shareLonger('sparrow', 'short', 15_000);
const omniscient = seconds('omniscient', 'short', 'p50');

export const motivation: Figure = {
  id: 'motivation',
  title: 'Why long and short jobs do not mix: short jobs under Sparrow',
  paper: HAWK,
  section: '§2.3, Figure 1',
  about:
    'Short jobs of 100 tasks of 100 s among long ones of 1,000 tasks of 20,000 s. Without waiting, ' +
    'a short job takes 100 s.',
  mode: 'simulated',
  workload: { generator: 'motivation', jobs: 1_000, isReplaceable: false },
  settings: {
    ...PAPER_ALGORITHM,
    workers: 15_000,
    // Anything between 100 s and 20,000 s.
    cutoff: CUTOFFS.google,
    // The paper gives none for this workload. Its short jobs' share of the work, 1%, would be too small for them.
    shortPartition: SHORT_PARTITIONS.google,
  },
  axis: ONE_PLACE,
  variants: [
    POLICIES.sparrow,
    // Hawk as in the paper, and as it runs here unless told otherwise.
    POLICIES.hawk,
    { name: 'hawk, backoff', settings: { policy: 'hawk', stealRetry: 'backoff' } },
    { name: 'omniscient', settings: { policy: 'omniscient' } },
  ],
  panels: [
    {
      kind: 'distribution',
      title: 'Run times of short jobs',
      of: 'short',
      variants: ['sparrow', 'hawk', 'hawk, backoff', 'omniscient'],
    },
    table('In numbers', [
      sparrowBusy,
      sparrowBusiest,
      stuck,
      ...['sparrow', 'hawk', 'hawk, backoff', 'omniscient'].map((name) => seconds(name, 'short', 'p50')),
    ]),
  ],
  claims: claims('§2.3', {
    'Under Sparrow the median utilization is 86%': shareIsAbout(sparrowBusy, 0.86),
    'Its maximum is 97.8%, so at least 300 servers (2%) are free at any time': shareStaysBelow(
      sparrowBusiest,
      0.98,
    ),
    'A large fraction of short jobs exhibit run times of more than 15,000 s': shareIsAtLeast(stuck, LARGE),
    'An omniscient scheduler would yield run times of 100 s for the majority of the short jobs': isAtMost(
      omniscient,
      100,
    ),
  }),
};
