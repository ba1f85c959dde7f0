import type { FigureWorkload, Variant } from '../figure.js';
import type { RunSettings } from '../settings.js';

/**
 * What the figures of §5.2 run: 1,250 jobs of at most 150 tasks each, drawn anew for each seed, on 150 single-slot
 * workers at the load of GTrace11 (§4.3, Table 5).
 */
export const EXTRACT: FigureWorkload = {
  generator: 'google-like',
  jobs: 20_000,
  isReplaceable: true,
  draw: { jobs: 1_250, tasksMax: 150 },
};

export const GS_SETTINGS = {
  policy: 'gs',
  workers: 150,
  load: 1.01,
  // One predictor, as in the paper: several would each learn from a part of the jobs only.
  schedulers: 1,
  // Which of the tasks are pilots matters.
  durations: 'task',
} as const satisfies RunSettings;

/** SLearn as it is: the ratio is found out, and all pilots are waited for (§5.1.2). */
export const SLEARN_VARIANT: Variant = {
  name: 'slearn',
  settings: { estimator: 'pilot', pilotRatio: 'adaptive' },
};

/** What it is compared with (§5.1.3). */
export const BASELINES = {
  threeSigma: { name: '3sigma', settings: { estimator: '3sigma' } },
  threeSigmaTl: { name: '3sigma-tl', settings: { estimator: '3sigma-tl' } },
  pointEst: { name: 'point-est', settings: { estimator: 'point-est' } },
  las: { name: 'las', settings: { estimator: 'las' } },
  fifo: { name: 'fifo', settings: { estimator: 'fifo' } },
  oracle: { name: 'oracle', settings: { estimator: 'oracle' } },
} as const satisfies Readonly<Record<string, Variant>>;
