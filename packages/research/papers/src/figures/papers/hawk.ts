import type { JobClass } from '@goshawk/report';
import { inPercent, labelledAxis, SINGLE_POINT, settingAxis, withThousands, workersAxis } from '../axis.js';
import {
  bars,
  type Claim,
  claims,
  type Figure,
  type Judge,
  lines,
  type Paper,
  policies,
  type Series,
  table,
  type Variant,
} from '../figure.js';
import {
  agree,
  at,
  bestFactor,
  bestImprovement,
  bestImprovementExceeds,
  between,
  falls,
  from,
  isAtMost,
  isBelow,
  isBetter,
  isHighestAt,
  isLowestAt,
  isMuchBetter,
  isNearlyConstant,
  isSlightlyBetter,
  isSlightlyWorse,
  isWorse,
  only,
  rises,
  shareIsAbout,
  shareIsAtLeast,
  shareReaches,
  shareStaysBelow,
  staysWithin,
  tendsToOne,
} from '../judging/index.js';
import {
  additions,
  busy,
  DEFAULT_POLICY,
  percentileRatios,
  ratio,
  ratioToPlace,
  type Statistic,
  seconds,
  shareLonger,
  shareOfJobs,
  stated,
} from '../series.js';
import type { RunSettings } from '../settings.js';

const HAWK: Paper = {
  name: 'Hawk',
  reference:
    'P. Delgado, F. Dinu, A.-M. Kermarrec, W. Zwaenepoel: Hawk: Hybrid Datacenter Scheduling, USENIX ATC 2015',
};

/**
 * Options of the paper's algorithm: an idle worker tries to steal once, and probes are not cancelled (§3.5,
 * §3.6).
 */
const PAPER_ALGORITHM = {
  stealRetry: 'never',
  cancel: 'lazy',
  stealCap: 10,
} as const satisfies RunSettings;

/**
 * Cutoffs between short and long jobs: mean task run times in seconds, from the documentation of the authors'
 * simulator. The paper does not state them.
 */
const CUTOFFS = {
  google: '1129.532',
  cloudera: '272.783',
  facebook: '76.5951',
  yahoo: '90.5811',
} as const;

/** Fraction of the workers used only by short tasks (§4.1). */
const SHORT_PARTITIONS = {
  google: '0.17',
  cloudera: '0.09',
  facebook: '0.02',
  yahoo: '0.02',
} as const;

/**
 * Settings of the figures on the Google trace, with a tenth of the paper's jobs. On 15,000 workers, the load
 * while they are submitted is 86%, and 90% with all 506,460 jobs.
 */
const ON_GOOGLE = {
  paper: HAWK,
  mode: 'simulated',
  workload: { generator: 'google-like', jobs: 50_000, paperJobs: 506_460, isReplaceable: true },
  settings: { ...PAPER_ALGORITHM, cutoff: CUTOFFS.google, shortPartition: SHORT_PARTITIONS.google },
  variants: policies('hawk', 'sparrow', DEFAULT_POLICY),
} as const satisfies Partial<Figure>;

/** One size of the cluster, at which it is loaded but not overloaded. */
const SINGLE_SIZE = { ...ON_GOOGLE, settings: { ...ON_GOOGLE.settings, workers: 15_000 } } as const;

/** Sizes from an overloaded to a mostly idle cluster (§4.2). */
const GOOGLE_SIZES = workersAxis([10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000]);

/** Run times under Hawk over those under Sparrow. */
const { short50, short90, long50, long90 } = percentileRatios('hawk', 'sparrow');
const SHORT = [short50, short90];
const LONG = [long50, long90];
/** The default policy on the same jobs. */
const ours = (other: string, of: JobClass) =>
  additions(
    ratio(DEFAULT_POLICY, other, of, 'p50', `${of} p50, ${DEFAULT_POLICY}`),
    ratio(DEFAULT_POLICY, other, of, 'p90', `${of} p90, ${DEFAULT_POLICY}`),
  );
/** Lines of Hawk and of the default policy, with their names. */
const drawnBeside = (other: string, of: JobClass, hawk: readonly Series[]) => [
  ...hawk.map((each) => ({ ...each, name: `${each.name}, hawk` })),
  ...ours(other, of),
];
const DRAWN_SHORT = drawnBeside('sparrow', 'short', SHORT);
const DRAWN_LONG = drawnBeside('sparrow', 'long', LONG);
const ADDED = `The paper does not have the lines of ${DEFAULT_POLICY}.`;

/** "Significant", "considerable": better or worse by this much. */
const SIGNIFICANT = 0.2;

/** Threshold for what the paper calls a large fraction. */
const LARGE = 0.25;

const BACKOFF = 'hawk, backoff';
const MOTIVATION_POLICIES = [DEFAULT_POLICY, 'sparrow', 'hawk', BACKOFF, 'omniscient'];
const sparrowBusy = stated(busy('sparrow'), [[0, 0.86]]);
const sparrowBusiest = stated(busy('sparrow', 'max'), [[0, 0.978]]);
const stuck = shareLonger('sparrow', 'short', 15_000);
const omniscient = seconds('omniscient', 'short', 'p50');

const motivation: Figure = {
  id: 'motivation',
  title: 'Why long and short jobs do not mix: short jobs under Sparrow',
  paper: HAWK,
  section: '§2.3, Figure 1',
  about:
    'Short jobs of 100 tasks of 100 s run beside long jobs of 1,000 tasks of 20,000 s. Without waiting, ' +
    'a short job takes 100 s.',
  mode: 'simulated',
  workload: { generator: 'motivation', jobs: 1_000, isReplaceable: false },
  settings: {
    ...PAPER_ALGORITHM,
    workers: 15_000,
    // Any value between 100 s and 20,000 s.
    cutoff: CUTOFFS.google,
    // The paper states no partition for this workload. 1%, the share of short jobs in the work, would be too
    // small.
    shortPartition: SHORT_PARTITIONS.google,
  },
  axis: SINGLE_POINT,
  // Hawk as in the paper, and with the defaults of this project.
  variants: MOTIVATION_POLICIES.map((name) => ({
    name,
    settings: name === BACKOFF ? { policy: 'hawk', stealRetry: 'backoff' } : { policy: name },
  })),
  panels: [
    {
      kind: 'distribution',
      title: 'Run times of short jobs',
      of: 'short',
      variants: MOTIVATION_POLICIES,
    },
    table('In numbers', [
      sparrowBusy,
      sparrowBusiest,
      stuck,
      ...MOTIVATION_POLICIES.map((name) => seconds(name, 'short', 'p50')),
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

const shortMean = ratio('hawk', 'sparrow', 'short', 'mean');
const longMean = ratio('hawk', 'sparrow', 'long', 'mean');
/** Share of jobs, with the value that the paper states for 15,000 nodes. */
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
const bestWhenLoaded = (of: Series, paper: number) => only(loaded, bestImprovement(of, paper));

const hawk5: Figure = {
  ...ON_GOOGLE,
  id: 'hawk-5',
  title: 'Hawk against Sparrow on the Google trace, by size of the cluster',
  section: '§4.2, Figure 5',
  about: `Run times under Hawk divided by those under Sparrow, for the same jobs. Below 1, Hawk is faster. ${ADDED}`,
  axis: GOOGLE_SIZES,
  pairs: [{ of: 'hawk', over: 'sparrow' }],
  panels: [
    lines('(a) Long jobs', '÷ Sparrow', DRAWN_LONG),
    lines('(b) Short jobs', '÷ Sparrow', DRAWN_SHORT),
    lines('(c) Jobs that are not slower under Hawk', 'share of jobs', [
      betterOrEqual.short,
      betterOrEqual.long,
    ]),
    lines('(c) Average run time', 'Hawk ÷ Sparrow', [shortMean, longMean]),
    lines('Busy workers, median while jobs are submitted', 'share of workers', [
      ...additions(busy(DEFAULT_POLICY)),
      busy('sparrow'),
      busy('hawk'),
    ]),
    table('Jobs that are faster', [improved.short, improvedByHalf, improved.long]),
  ],
  claims: claims('§4.2', {
    'In the best case Hawk improves the 50th percentile run time of short jobs by 80%': bestWhenLoaded(
      short50,
      0.8,
    ),
    'In the best case Hawk improves the 90th percentile run time of short jobs by 90%': bestWhenLoaded(
      short90,
      0.9,
    ),
    'In the best case Hawk improves the 50th percentile run time of long jobs by 35%': bestWhenLoaded(
      long50,
      0.35,
    ),
    'In the best case Hawk improves the 90th percentile run time of long jobs by 10%': bestWhenLoaded(
      long90,
      0.1,
    ),
    'Hawk consistently outperforms Sparrow (short jobs, at every size)': isBetter(SHORT),
    'Improvements are significant when the cluster is highly loaded but not overloaded (15,000–25,000 nodes)':
      only(loaded, isMuchBetter(SHORT, SIGNIFICANT)),
    'Improvements are greatest at these sizes': isLowestAt(short90, loaded),
    'The 90th percentile of short jobs improves more than the 50th': only(loaded, isBelow(short90, short50)),
    'The average run time of short jobs is as low as a factor of 7 below Sparrow’s': bestFactor(shortMean, 7),
    'At 15,000 nodes Hawk improves 68% of short jobs': only(at(15_000), shareReaches(improved.short, 0.68)),
    'At 15,000 nodes 59% of short jobs improve by more than half': only(
      at(15_000),
      shareReaches(improvedByHalf, 0.59),
    ),
    'At 15,000 nodes 86% of short jobs are better or equal': only(
      at(15_000),
      shareReaches(betterOrEqual.short, 0.86),
    ),
    'At 15,000 nodes Hawk improves 51% of long jobs': only(at(15_000), shareReaches(improved.long, 0.51)),
    'At 15,000 nodes 72% of long jobs are better or equal': only(
      at(15_000),
      shareReaches(betterOrEqual.long, 0.72),
    ),
    'At 10,000 nodes, overloaded, Hawk is just slightly worse for long jobs': only(
      at(10_000),
      isSlightlyWorse(LONG),
    ),
    'At 10,000 nodes Hawk is better for short jobs, but not by much': only(
      at(10_000),
      isSlightlyBetter(SHORT),
    ),
    'From 40,000 nodes on the benefits decrease, as the cluster becomes mostly idle': only(
      from(25_000),
      tendsToOne([...SHORT, ...LONG]),
    ),
  }),
};

/**
 * Multiples of the size at which the submitted work is 90% of the capacity, spaced like 10,000–50,000 relative to
 * 15,000.
 */
const SIZES = [2 / 3, 1, 4 / 3, 5 / 3, 2, 8 / 3, 10 / 3];

interface Trace {
  readonly name: 'cloudera' | 'facebook' | 'yahoo';
  readonly title: string;
  /** The size at 90% load. */
  readonly workers: number;
  readonly jobs: number;
  readonly paperJobs: number;
}

/** The paper's text names the traces, but not the cluster sizes. */
const TRACES: readonly Trace[] = [
  { name: 'cloudera', title: 'Cloudera C', workers: 15_000, jobs: 7_000, paperJobs: 21_030 },
  { name: 'facebook', title: 'Facebook 2010', workers: 60_000, jobs: 50_000, paperJobs: 1_169_117 },
  { name: 'yahoo', title: 'Yahoo 2011', workers: 4_000, jobs: 24_262, paperJobs: 24_262 },
];

const hawk6 = TRACES.map(otherTraceFigure);

function otherTraceFigure({ name, title, workers, jobs, paperJobs }: Trace): Figure {
  const loaded = (x: number) => x >= workers && x <= 2 * workers;
  return {
    id: `hawk-6-${name}`,
    title: `Hawk against Sparrow on the ${title} workload, by size of the cluster`,
    paper: HAWK,
    section: '§4.3, Figure 6',
    about: `Run times under Hawk divided by those under Sparrow. With ${withThousands(workers)} workers, the offered load is 90%. ${ADDED}`,
    mode: 'simulated',
    workload: {
      generator: name,
      // The deviation is that of the authors' trace of this kind; their cutoffs do not fit one of twice the mean
      // (docs/SIMULATE.md).
      options: `deviation=root,workers=${workers}`,
      jobs,
      paperJobs,
      isReplaceable: true,
    },
    settings: { ...PAPER_ALGORITHM, cutoff: CUTOFFS[name], shortPartition: SHORT_PARTITIONS[name] },
    axis: workersAxis(SIZES.map((size) => Math.round(size * workers))),
    variants: policies('hawk', 'sparrow', DEFAULT_POLICY),
    panels: [
      lines('Short jobs', '÷ Sparrow', DRAWN_SHORT),
      lines('Long jobs', '÷ Sparrow', DRAWN_LONG),
      lines('Busy workers, median while jobs are submitted', 'share of workers', [
        ...additions(busy(DEFAULT_POLICY)),
        busy('sparrow'),
        busy('hawk'),
      ]),
    ],
    claims: [
      ...claims('§4', {
        'The benefits hold across all workloads (short jobs, at every size)': isBetter(SHORT),
        '“In loaded clusters Hawk outperforms Sparrow for both long and short jobs” (long jobs, at 90% load and less)':
          only(from(workers), isBetter(LONG)),
      }),
      ...claims('§1', {
        'The improvements are greatest under high load': isLowestAt(short90, loaded),
      }),
      ...claims('§4.3', {
        'The 50th percentile of short jobs improves more than on the Google trace (80%)':
          bestImprovementExceeds(short50, 0.8),
        'The 90th percentile of short jobs improves more than on the Google trace (90%)':
          bestImprovementExceeds(short90, 0.9),
      }),
    ],
  };
}

const ABLATIONS = {
  'no central': { central: false },
  'no partition': { partition: false },
  'no stealing': { stealing: false },
};
const [NO_CENTRAL, NO_PARTITION, NO_STEALING] = [0, 1, 2] as const;

const without = percentileRatios('without', 'hawk');
const shortWithout = [without.short50, without.short90];
const longWithout = [without.long50, without.long90];

const hawk7: Figure = {
  ...SINGLE_SIZE,
  id: 'hawk-7',
  title: 'Contribution of each part of Hawk',
  section: '§4.4, Figure 7',
  about: 'Run times without a part of Hawk divided by those of complete Hawk. Above 1, the part helps.',
  settings: { ...SINGLE_SIZE.settings, policy: 'hawk' },
  axis: labelledAxis('', ABLATIONS),
  variants: [
    { name: 'without', settings: {} },
    { name: 'hawk', settings: { central: true, partition: true, stealing: true } },
  ],
  panels: [
    bars('Short jobs', 'without it ÷ Hawk', shortWithout),
    bars('Long jobs', 'without it ÷ Hawk', longWithout),
  ],
  claims: [
    ...claims('§4.4', {
      'Without centralized scheduling the performance of long jobs takes a significant hit': only(
        at(NO_CENTRAL),
        isWorse(longWithout, SIGNIFICANT),
      ),
      'Without centralized scheduling, short jobs improve': only(at(NO_CENTRAL), isBetter(shortWithout)),
      'Without partitioning short jobs are impacted': only(at(NO_PARTITION), isWorse(shortWithout, 0.1)),
      'Without partitioning long jobs perform slightly better': only(
        at(NO_PARTITION),
        isSlightlyBetter(longWithout),
      ),
      'Without stealing short jobs are greatly penalized': only(at(NO_STEALING), isWorse(shortWithout, 0.5)),
      'Without stealing long jobs suffer too': only(at(NO_STEALING), isWorse(longWithout, 0)),
    }),
    ...claims('§1', {
      'Stealing contributes the most to short jobs, especially at the 90th percentile': isHighestAt(
        without.short90,
        at(NO_STEALING),
      ),
    }),
  ],
};

/** Baselines of Hawk. */
const OTHERS = {
  central: {
    section: '§4.5',
    name: 'a centralized scheduler',
    about:
      'under a centralized scheduler that places all jobs by waiting time, without partition and stealing',
  },
  split: {
    section: '§4.6',
    name: 'a split cluster',
    about: 'in a split cluster, with 17% of the workers for short jobs and the others for long jobs',
  },
} as const;

type Other = keyof typeof OTHERS;

const ratios = (other: Other, of: JobClass) =>
  [ratio('hawk', other, of, 'p50'), ratio('hawk', other, of, 'p90')] as const;
const shortToCentral = ratios('central', 'short');
const shortToSplit = ratios('split', 'short');

const hawk8 = against('central', '8', 'short', {
  'The centralized scheduler penalizes short jobs when the cluster is heavily loaded (10,000–15,000 nodes)':
    only(at(10_000, 15_000), isMuchBetter(shortToCentral, 0.1)),
  'As utilization decreases it does an increasingly better job for short jobs': only(
    from(15_000),
    rises(shortToCentral),
  ),
  'At 50,000 nodes the results of both begin to converge': only(
    at(50_000),
    staysWithin(shortToCentral, { least: 0.8, most: 1.2 }),
  ),
});

const hawk9 = against('central', '9', 'long', {
  'For long jobs the centralized scheduler performs slightly better': isSlightlyWorse(
    ratios('central', 'long'),
  ),
});

/** The text discusses Figures 10 and 11 together, long jobs first. */
const hawk10 = against('split', '10', 'long', {
  'For long jobs the split cluster performs slightly better': isSlightlyWorse(ratios('split', 'long')),
});

const hawk11 = against('split', '11', 'short', {
  'For short jobs Hawk fares significantly better': only(
    between(15_000, 25_000),
    isMuchBetter(shortToSplit, SIGNIFICANT),
  ),
  'In small clusters the split cluster is less far behind: both suffer from queueing': isLowestAt(
    shortToSplit[0],
    between(15_000, 40_000),
  ),
  'In a large cluster both do well': only(at(50_000), staysWithin(shortToSplit, { least: 0.8, most: 1.2 })),
});

/** @param judges the paper's statements, with functions that judge them */
function against(
  other: Other,
  number: string,
  of: JobClass,
  judges: Readonly<Record<string, Judge>>,
): Figure {
  const { section, name, about } = OTHERS[other];
  const title = of === 'short' ? 'Short jobs' : 'Long jobs';
  return {
    ...ON_GOOGLE,
    id: `hawk-${number}`,
    title: `Hawk against ${name}, ${of} jobs, by size of the cluster`,
    section: `${section}, Figure ${number}`,
    about: `Run times under Hawk divided by those ${about}. Below 1, Hawk is faster. ${ADDED}`,
    axis: GOOGLE_SIZES,
    variants: policies('hawk', other, DEFAULT_POLICY),
    panels: [lines(title, `÷ ${other}`, drawnBeside(other, of, ratios(other, of)))],
    claims: claims(section, judges),
  };
}

/** Cutoffs in seconds. The paper states none; these surround the cutoff of all other figures. */
const CUTOFFS_TRIED = ['750', '1000', CUTOFFS.google, '1300', '1500', '2000'];

const hawk12 = byCutoff('12', 'long', {
  panels: [lines('Long jobs', '÷ Sparrow', DRAWN_LONG)],
  claims: claims('§4.7', {
    'Hawk yields benefits for a range of cutoff values (50th percentile of long jobs)': isBetter([long50]),
    'For smaller cutoffs the 90th percentile of long jobs is affected more under Hawk than under Sparrow':
      falls([long90]),
  }),
});

const hawk13 = byCutoff('13', 'short', {
  panels: [lines('Short jobs', '÷ Sparrow', DRAWN_SHORT)],
  claims: claims('§4.7', {
    'Hawk yields benefits for a range of cutoff values (short jobs)': isBetter(SHORT),
    'For smaller cutoffs Hawk improves the most on Sparrow': rises(SHORT),
  }),
});

function byCutoff(number: string, of: string, { panels, claims }: Pick<Figure, 'panels' | 'claims'>): Figure {
  return {
    ...SINGLE_SIZE,
    id: `hawk-${number}`,
    title: `Hawk against Sparrow by the cutoff between short and long, ${of} jobs`,
    section: `§4.7, Figure ${number}`,
    about:
      'Run times under Hawk divided by those under Sparrow. The cutoff of each point classifies jobs ' +
      `under all policies. ${ADDED}`,
    axis: settingAxis(
      'cutoff, s of mean task run time',
      'linear',
      CUTOFFS_TRIED,
      (cutoff) => ({ cutoff }),
      (cutoff) => withThousands(Math.round(Number(cutoff))),
    ),
    panels,
    claims,
  };
}

/** Maximum relative errors of an estimate in either direction. 0.9 is the paper's range of 0.1–1.9. */
const MAGNITUDES = [0, 0.1, 0.3, 0.5, 0.7, 0.9];
const range = (magnitude: number, dash: string) =>
  `${(1 - magnitude).toFixed(1)}${dash}${(1 + magnitude).toFixed(1)}`;

const hawk14: Figure = {
  ...SINGLE_SIZE,
  id: 'hawk-14',
  title: 'Hawk with wrong estimates',
  section: '§4.8, Figure 14',
  about:
    'Each estimate is the true mean task run time multiplied by a random number from the range, drawn once per job. Run ' +
    `times are divided by those under Sparrow; jobs are short or long by their true means. ${ADDED}`,
  axis: settingAxis(
    'range of estimates, of the truth',
    'even',
    MAGNITUDES,
    (magnitude) => ({ estimator: magnitude === 0 ? 'oracle' : `noisy:${range(magnitude, '-')}` }),
    (magnitude) => (magnitude === 0 ? 'exact' : range(magnitude, '–')),
  ),
  // Sparrow uses no estimates.
  variants: [
    ...policies('hawk', DEFAULT_POLICY),
    { name: 'sparrow', settings: { policy: 'sparrow', estimator: 'oracle' } },
  ],
  panels: [lines('Long jobs', '÷ Sparrow', DRAWN_LONG), lines('Short jobs', '÷ Sparrow', DRAWN_SHORT)],
  claims: claims('§4.8', {
    'Hawk is robust to mis-estimations: the 50th percentile of long jobs stays better than Sparrow’s':
      isBetter([long50]),
    'The 50th percentile of long jobs varies little with mis-estimations': isNearlyConstant([long50], 0.1),
    'Long jobs perform better at the 90th percentile as the mis-estimation grows': falls([long90]),
    'Results for short jobs vary only minutely': isNearlyConstant(SHORT, 0.05),
  }),
};

const shortToCapOf1 = [ratioToPlace('hawk', 1, 'short', 'p50'), ratioToPlace('hawk', 1, 'short', 'p90')];
const longToCapOf1 = [ratioToPlace('hawk', 1, 'long', 'p50'), ratioToPlace('hawk', 1, 'long', 'p90')];

const hawk15: Figure = {
  ...SINGLE_SIZE,
  id: 'hawk-15',
  title: 'Hawk by the number of workers that an idle worker contacts',
  section: '§4.9, Figure 15',
  about: 'Run times under Hawk divided by those with a cap of 1.',
  axis: settingAxis(
    'maximum number of contacted workers',
    'log',
    [1, 2, 5, 10, 25, 50, 100, 250],
    (stealCap) => ({
      stealCap,
    }),
  ),
  variants: policies('hawk'),
  panels: [
    lines('Short jobs', '÷ a cap of 1', shortToCapOf1),
    lines('Long jobs', '÷ a cap of 1', longToCapOf1),
  ],
  claims: claims('§4.9', {
    'Performance increases with the cap': falls(shortToCapOf1),
    'Even a low value (10) gives significant benefit': only(at(10), isMuchBetter(shortToCapOf1, SIGNIFICANT)),
    'At high caps there is also a slight increase in the performance of long jobs': only(
      from(100),
      isSlightlyBetter(longToCapOf1),
    ),
  }),
};

/**
 * Loads in descending order, because the paper's multiples of the mean task run time start with the shortest.
 */
const LOADS = [0.9, 0.75, 0.6, 0.45];

const VARIANTS: readonly Variant[] = (['live', 'simulated'] as const).flatMap((mode) =>
  ['hawk', 'sparrow'].map((policy) => ({ name: `${policy}, ${mode}`, mode, settings: { policy } })),
);

const ratioIn = (mode: 'live' | 'simulated', jobs: JobClass, statistic: Statistic): Series =>
  ratio(`hawk, ${mode}`, `sparrow, ${mode}`, jobs, statistic, `${statistic}, ${mode}`);
const prototypeSeries = (jobs: JobClass) => ({
  live50: ratioIn('live', jobs, 'p50'),
  live90: ratioIn('live', jobs, 'p90'),
  simulated50: ratioIn('simulated', jobs, 'p50'),
  simulated90: ratioIn('simulated', jobs, 'p90'),
});
const shortJobs = prototypeSeries('short');
const longJobs = prototypeSeries('long');

const hawk16 = prototype(
  '16',
  'short',
  shortJobs,
  claims('§4.10', {
    'Hawk is best at high load, where it significantly improves on Sparrow for short jobs': only(
      at(0.9),
      isMuchBetter([shortJobs.live50, shortJobs.live90], SIGNIFICANT),
    ),
    'As load decreases, the 50th percentiles of Hawk and Sparrow become similar': tendsToOne([
      shortJobs.live50,
    ]),
    'Even at medium load the 90th percentile of short jobs is considerably better': only(
      at(0.75, 0.6),
      isMuchBetter([shortJobs.live90], SIGNIFICANT),
    ),
    'Simulation and implementation agree and show similar trends (short jobs, within 20%)': agree(
      [
        [shortJobs.simulated50, shortJobs.live50],
        [shortJobs.simulated90, shortJobs.live90],
      ],
      0.2,
    ),
  }),
);

const hawk17 = prototype(
  '17',
  'long',
  longJobs,
  claims('§4.10', {
    'Hawk maintains good performance for long jobs': staysWithin([longJobs.live50, longJobs.live90], {
      least: 0,
      most: 1.1,
    }),
    'Simulation and implementation agree and show similar trends (long jobs, within 20%)': agree(
      [
        [longJobs.simulated50, longJobs.live50],
        [longJobs.simulated90, longJobs.live90],
      ],
      0.2,
    ),
  }),
);

function prototype(
  number: string,
  jobs: JobClass,
  { live50, live90, simulated50, simulated90 }: typeof shortJobs,
  claims: readonly Claim[],
): Figure {
  return {
    id: `hawk-${number}`,
    title: `Live runs compared with simulation, ${jobs} jobs, by load`,
    paper: HAWK,
    section: `§4.10, Figure ${number}`,
    about:
      'A sample of jobs on a cluster of 10 schedulers and the workers, all processes of this machine, and a simulation of ' +
      'the same jobs at the same times. Run times under Hawk divided by those under Sparrow.',
    mode: 'live',
    isTimed: true,
    // The workload of the demo: with few jobs and a long tail, many samples consist only of the tail.
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

export const HAWK_FIGURES: readonly Figure[] = [
  motivation,
  hawk5,
  ...hawk6,
  hawk7,
  hawk8,
  hawk9,
  hawk10,
  hawk11,
  hawk12,
  hawk13,
  hawk14,
  hawk15,
  hawk16,
  hawk17,
];
