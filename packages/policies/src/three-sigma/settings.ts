import type { PolicyOption, ValuesOf } from '../contract.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Options of 3Sigma's policies. Where the paper says nothing, the default is ours. */
export const THREE_SIGMA_OPTIONS = {
  cycleMs: {
    default: 2_000,
    min: 10,
    max: HOUR_MS,
    scales: true,
    help: 'Time from one plan to the next. ms',
  },
  startGrid: {
    default: '0,10,20,40,60,90,120,180,240,360,480,720',
    scales: true,
    help: 'When jobs may be planned to start: seconds from now, 0 first, rising.',
  },
  beMax: { default: 32, min: 2, max: 10_000, help: 'Best-effort jobs of one plan at most.' },
  preemptCandidatesMax: {
    default: 64,
    min: 0,
    max: 10_000,
    help: 'Running jobs that one plan may think of killing at most.',
  },
  vSlo: {
    default: 10,
    min: 0.01,
    max: 1e6,
    help: 'What a job that meets its deadline is worth, unless it says.',
  },
  vBe: { default: 1, min: 0.01, max: 1e6, help: 'What a best-effort job that ends at once is worth.' },
  beLengthMs: {
    default: 5 * HOUR_MS,
    min: 1,
    max: 1_000 * DAY_MS,
    scales: true,
    help: 'Time in which what a best-effort job is worth falls to nothing. ms',
  },
  beFloor: {
    default: 0.05,
    min: 0,
    max: 1,
    help: 'Share of its worth that a best-effort job keeps however old.',
  },
  tieBreak: { default: 1e-4, min: 0, max: 1, help: 'What a start is worth less for each place of the grid.' },
  deferral: {
    default: 0.9,
    min: 0,
    max: 1,
    help: 'Share of its worth for which a job with a deadline far away waits until after the plan.',
  },
  oeThreshold: {
    default: 0.05,
    min: 0,
    max: 1,
    help: 'A job whose chance of meeting its deadline is below this is worth something after it, too.',
  },
  tail: {
    default: 1,
    min: 0.001,
    max: 1,
    help: 'Factor of what such a job is worth right after its deadline.',
  },
  afterDeadline: {
    default: 'bestEffort',
    choices: ['abandon', 'bestEffort'],
    help: 'What becomes of a job that has not started by its deadline.',
  },
  slowdown: {
    default: 1.5,
    min: 1,
    max: 100,
    help: 'How many times longer a job takes on workers that it does not prefer.',
  },
  lpIterationsMax: {
    default: 500,
    min: 0,
    max: 1e9,
    help: 'Work of the solver on one plan, in iterations of linear programs.',
  },
  mipRelGap: {
    default: 2e-3,
    min: 0,
    max: 1,
    help: 'How near to the best a plan has to be, as a share of it.',
  },
  defaultRuntimeMs: {
    default: 600_000,
    min: 1,
    max: 1_000 * DAY_MS,
    scales: true,
    help: 'Run time of a job of which nothing is known. ms',
  },
} as const satisfies Record<string, PolicyOption<unknown>>;

export type ThreeSigmaOptions = ValuesOf<typeof THREE_SIGMA_OPTIONS>;

/** What tells the policies of one program apart (3Sigma Table 1). */
export interface Beliefs {
  /** The whole distribution of run times, or one number taken for certain. */
  readonly estimates: 'distribution' | 'point';
  /** Which jobs are worth something after their deadline: those that can hardly meet it, none, or all (§4.2.3). */
  readonly lateWorth: 'adaptive' | 'never' | 'always';
}
