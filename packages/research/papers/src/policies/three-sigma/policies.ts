import type { CentralPolicy, PolicyModule } from '@goshawk/policies';
import { ThreeSigma } from './policy.js';
import { Prio } from './prio.js';
import { type PolicyVariant, THREE_SIGMA_OPTIONS, type ThreeSigmaOptions } from './settings.js';

/**
 * Systems that 3Sigma compares (Table 1). All but `prio` share one program, with different estimates of jobs.
 */
export const THREE_SIGMA_POLICIES = {
  '3sigma-sched': planning('plans ahead for deadlines, using distributions of run times (3Sigma)', {
    estimates: 'distribution',
    valueAfterDeadline: 'adaptive',
  }),
  '3sigma-nodist': planning('3sigma-sched with point estimates', {
    estimates: 'point',
    valueAfterDeadline: 'adaptive',
  }),
  '3sigma-nooe': planning('3sigma-sched without value after the deadline', {
    estimates: 'distribution',
    valueAfterDeadline: 'never',
  }),
  '3sigma-noadapt': planning('3sigma-sched with some value after every deadline', {
    estimates: 'distribution',
    valueAfterDeadline: 'always',
  }),
  'point-perf': planning(
    'plans ahead for deadlines, using the true run times (requires --estimator oracle)',
    {
      estimates: 'point',
      valueAfterDeadline: 'never',
    },
  ),
  'point-real': planning('plans ahead for deadlines, using point estimates of run times', {
    estimates: 'point',
    valueAfterDeadline: 'never',
  }),
  prio: module('jobs with deadlines run first and preempt other jobs', (options) => new Prio(options)),
} as const satisfies Record<string, PolicyModule<ThreeSigmaOptions>>;

function planning(title: string, variant: PolicyVariant): PolicyModule<ThreeSigmaOptions> {
  return { ...module(title, (options) => new ThreeSigma(options, variant)), solves: true };
}

function module(
  title: string,
  make: (options: ThreeSigmaOptions) => CentralPolicy,
): PolicyModule<ThreeSigmaOptions> {
  return {
    title,
    declares: true,
    gangs: 'all',
    abandons: ({ afterDeadline }) => afterDeadline === 'abandon',
    options: THREE_SIGMA_OPTIONS,
    make,
  };
}
