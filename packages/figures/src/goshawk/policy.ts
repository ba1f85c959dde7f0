import type { FigureWorkload, Paper } from '../figure.js';
import type { RunSettings } from '../settings.js';

/** Not a paper: the page that says what the policy does and gains. */
export const POLICY_PAGE: Paper = { name: 'Goshawk', reference: 'docs/DESIGN.md' };

/** A tenth of the jobs of the figures of Hawk, since each place runs five policies. */
export const SHORTER: FigureWorkload = { generator: 'google-like', jobs: 10_000, isReplaceable: true };

/** As `goshawk simulate` has it; the partition is Hawk's alone. */
export const POLICY_SETTINGS = { cutoff: 'p90', shortPartition: '0.17' } as const satisfies RunSettings;
