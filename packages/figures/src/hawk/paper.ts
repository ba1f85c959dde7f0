import { type Axis, workersAxis } from '../axis.js';
import type { FigureWorkload, Paper, Variant } from '../figure.js';
import type { RunSettings } from '../settings.js';

export const HAWK: Paper = {
  name: 'Hawk',
  reference:
    'P. Delgado, F. Dinu, A.-M. Kermarrec, W. Zwaenepoel: Hawk: Hybrid Datacenter Scheduling, USENIX ATC 2015',
};

/** The algorithm as the paper has it: an idle worker asks once, and nobody calls probes back (§3.5, §3.6). */
export const PAPER_ALGORITHM = {
  stealRetry: 'never',
  cancel: 'lazy',
  stealCap: 10,
} as const satisfies RunSettings;

/** Seconds of mean task run time. From the documentation of the authors' simulator; the paper does not say. */
export const CUTOFFS = {
  google: '1129.532',
  cloudera: '272.783',
  facebook: '76.5951',
  yahoo: '90.5811',
} as const;

/** Share of the workers that only short tasks use (§4.1). */
export const SHORT_PARTITIONS = {
  google: '0.17',
  cloudera: '0.09',
  facebook: '0.02',
  yahoo: '0.02',
} as const;

export const GOOGLE_SETTINGS = {
  ...PAPER_ALGORITHM,
  cutoff: CUTOFFS.google,
  shortPartition: SHORT_PARTITIONS.google,
} as const satisfies RunSettings;

/** Where one size is looked at: loaded, but not overloaded. */
export const GOOGLE_WORKERS = 15_000;

/**
 * A tenth of the paper's trace. While these jobs are submitted they could keep 86% of 15,000 workers busy;
 * all 506,460 could 90% (docs/MEASUREMENTS.md).
 */
export const GOOGLE: FigureWorkload = {
  generator: 'google-like',
  jobs: 50_000,
  paperJobs: 506_460,
  isReplaceable: true,
};

/** Overloaded at one end, mostly idle at the other (§4.2). */
export const GOOGLE_SIZES: Axis = workersAxis([10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000]);

/** Whole policies, side by side. */
export const POLICIES = {
  hawk: { name: 'hawk', settings: { policy: 'hawk' } },
  sparrow: { name: 'sparrow', settings: { policy: 'sparrow' } },
  central: { name: 'central', settings: { policy: 'central' } },
  split: { name: 'split', settings: { policy: 'split' } },
} as const satisfies Readonly<Record<string, Variant>>;
