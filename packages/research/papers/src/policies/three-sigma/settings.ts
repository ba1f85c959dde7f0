import type { PolicyOption, ValuesOf } from '@goshawk/policies';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Options of 3Sigma's policies. The paper does not state all defaults; the others are choices of this
 * project.
 */
export const THREE_SIGMA_OPTIONS = {
  cycleMs: {
    default: 2_000,
    min: 10,
    max: HOUR_MS,
    scales: true,
    help: 'Interval between plans. ms',
  },
  startGrid: {
    default: '0,10,20,40,60,90,120,180,240,360,480,720',
    scales: true,
    help: 'Planned start times: ascending seconds from now, starting with 0.',
  },
  beMax: { default: 32, min: 2, max: 10_000, help: 'Maximum number of best-effort jobs per plan.' },
  preemptCandidatesMax: {
    default: 64,
    min: 0,
    max: 10_000,
    help: 'Maximum number of running jobs that a plan considers killing.',
  },
  vSlo: {
    default: 10,
    min: 0.01,
    max: 1e6,
    help: 'Value of a job that meets its deadline, unless the job sets one.',
  },
  vBe: { default: 1, min: 0.01, max: 1e6, help: 'Value of a best-effort job that ends immediately.' },
  beLengthMs: {
    default: 5 * HOUR_MS,
    min: 1,
    max: 1_000 * DAY_MS,
    scales: true,
    help: 'Time in which the value of a best-effort job falls to zero. ms',
  },
  beFloor: {
    default: 0.05,
    min: 0,
    max: 1,
    help: 'Minimum share of its value that a best-effort job keeps at any age.',
  },
  tieBreak: { default: 1e-4, min: 0, max: 1, help: 'Value lost for each grid step that a start is delayed.' },
  deferral: {
    default: 0.9,
    min: 0,
    max: 1,
    help: 'Share of its value for which a job with a distant deadline is left for a later plan.',
  },
  oeThreshold: {
    default: 0.05,
    min: 0,
    max: 1,
    help: 'A job whose probability of meeting its deadline is below this keeps some value after it.',
  },
  tail: {
    default: 1,
    min: 0.001,
    max: 1,
    help: 'Factor on the value of such a job right after its deadline.',
  },
  afterDeadline: {
    default: 'bestEffort',
    choices: ['abandon', 'bestEffort'],
    help: 'What happens to a job that has not started by its deadline.',
  },
  slowdown: {
    default: 1.5,
    min: 1,
    max: 100,
    help: 'How many times longer a job runs on workers that it does not prefer.',
  },
  lpIterationsMax: {
    default: 500,
    min: 0,
    max: 1e9,
    help: 'Solver budget per plan, in simplex iterations.',
  },
  mipRelGap: {
    default: 2e-3,
    min: 0,
    max: 1,
    help: 'Relative optimality gap at which the solver stops.',
  },
  defaultRuntimeMs: {
    default: 600_000,
    min: 1,
    max: 1_000 * DAY_MS,
    scales: true,
    help: 'Run time assumed for a job without history. ms',
  },
} as const satisfies Record<string, PolicyOption<unknown>>;

export type ThreeSigmaOptions = ValuesOf<typeof THREE_SIGMA_OPTIONS>;

/** Settings that distinguish the policies of one program (3Sigma Table 1). */
export interface PolicyVariant {
  /** The whole distribution of run times, or a point estimate taken as certain. */
  readonly estimates: 'distribution' | 'point';
  /** Which jobs have a value after their deadline: those that can hardly meet it, none, or all (§4.2.3). */
  readonly valueAfterDeadline: 'adaptive' | 'never' | 'always';
}
