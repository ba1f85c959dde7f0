import type { PolicyModule, PolicyOption, PolicyOptions } from '@goshawk/policies';
import type { AltruismRules } from './altruism.js';
import type { Leftover } from './passes.js';
import { CarbyneFamily, type FamilyRules } from './policy.js';
import { SHARE_RULES, SHARED_BY } from './shares.js';

/** Carbyne and its baselines (OSDI '16, §5.1): one implementation, with the differences as data. */

const SCORE = { kind: 'score', workWeight: 1, fairness: 0 } as const;
const LEFTOVERS = {
  srtf: { kind: 'srtf' },
  score: SCORE,
  pack: { ...SCORE, workWeight: 0 },
  drf: { kind: 'drf' },
  none: { kind: 'none' },
} as const satisfies Record<string, Leftover>;

/** Events within this time form one turn, so that tasks of a job that end together are handled together. */
const QUANTUM: PolicyOption<number> = {
  default: 100,
  min: 0,
  max: 60_000,
  help: 'events within this many ms are handled together',
};

const SHARE_BY: PolicyOption<(typeof SHARED_BY)[number]> = {
  default: 'job',
  choices: SHARED_BY,
  help: 'unit of fair sharing: jobs, or users, whose jobs divide the user’s share',
};

const FAIRNESS: PolicyOption<number> = {
  default: 0.99,
  min: 0,
  max: 1,
  help: 'fraction of jobs to skip, beginning with the largest shares; at least one job stays eligible',
};

type Leftovers = keyof typeof LEFTOVERS;

export const CARBYNE_POLICIES = {
  carbyne: carbyne(
    'jobs give up resources they do not need now; the shortest jobs use them',
    { shares: 'equal', hold: 1.5, leftover: 'srtf' },
    { isDrawnEachTurn: false, keepsPlans: true, order: 'critical-path' },
  ),
  'carbyne-pack': carbyne(
    'as carbyne, but leftover resources go to the tasks that pack best',
    { shares: 'equal', hold: 1.5, leftover: 'score' },
    { isDrawnEachTurn: false, keepsPlans: true, order: 'critical-path' },
  ),
  'carbyne-paper': carbyne(
    'Carbyne as published, without a safety margin and without keeping promised start times',
    { shares: 'work', hold: 0, leftover: 'srtf' },
    { isDrawnEachTurn: true, keepsPlans: false, order: 'alignment' },
  ),
  drf: sharing('dominant resource fairness: the job with the smallest share is next', 'drf'),
  'drf-strict': sharing('as drf, but no job gets more than its fair share', 'drf-strict'),
  tetris: plain(
    'the tasks that pack best run first, with preference for jobs with little work left',
    LEFTOVERS.score,
  ),
  'tetris-fair': family(
    'as tetris, among the jobs furthest below their share',
    { fairness: FAIRNESS },
    ({ fairness }) => ({
      leftover: { ...SCORE, fairness },
    }),
  ),
  pack: plain('the tasks that pack best run first', LEFTOVERS.pack),
  sjf: plain('the job with the shortest critical path runs first', { kind: 'sjf' }),
  srtf: plain('the job with the least work left runs first', LEFTOVERS.srtf),
} as const satisfies Record<string, PolicyModule>;

function carbyne(
  title: string,
  defaults: {
    readonly shares: (typeof SHARE_RULES)[number];
    readonly hold: number;
    readonly leftover: Leftovers;
  },
  rules: Pick<AltruismRules, 'isDrawnEachTurn' | 'keepsPlans' | 'order'>,
) {
  const options = {
    shareBy: SHARE_BY,
    shares: {
      default: defaults.shares,
      choices: SHARE_RULES,
      help: 'how shares are divided: equally for every resource, or by the needs of the remaining work',
    },
    altruism: {
      default: 1,
      min: 0,
      max: 1,
      help: 'probability that a job gives up resources it does not need now',
    },
    hold: {
      default: defaults.hold,
      min: 0,
      max: 100,
      help: 'safety margin: a task starts this many median run times before its latest start',
    },
    leftover: {
      default: defaults.leftover,
      choices: Object.keys(LEFTOVERS) as Leftovers[],
      help: 'order in which jobs get leftover resources: least work left, best score, best fit or smallest share first, or none',
    },
  };
  return family(title, options, ({ shareBy, shares, altruism, hold, leftover }) => ({
    by: shareBy,
    shares,
    altruism: { ...rules, probability: altruism, holdMedians: hold },
    leftover: LEFTOVERS[leftover],
  }));
}

function sharing(title: string, kind: 'drf' | 'drf-strict') {
  return family(title, { shareBy: SHARE_BY }, ({ shareBy }) => ({ by: shareBy, leftover: { kind } }));
}

function plain(title: string, leftover: Leftover) {
  return family(title, {}, () => ({ leftover }));
}

/** @param rulesOf rules that depend on the options; by default, jobs have equal shares and do not yield */
function family<Own extends PolicyOptions>(
  title: string,
  options: PolicyModule<Own>['options'],
  rulesOf: (own: Own) => Pick<FamilyRules, 'leftover'> & Partial<FamilyRules>,
): PolicyModule {
  return {
    title,
    declares: true,
    options: { quantumMs: QUANTUM, ...options },
    make: (values, context) => {
      const quantumMs = values.quantumMs as number;
      return new CarbyneFamily({ shares: 'equal', by: 'job', quantumMs, ...rulesOf(values as Own) }, context);
    },
  };
}
