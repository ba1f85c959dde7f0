import { InputError } from '@goshawk/core';
import type { Estimator } from './estimator.js';
import { Given } from './given.js';
import { HistoryEstimator } from './history/history-estimator.js';
import { Hybrid } from './hybrid/hybrid.js';
import { Noisy } from './noisy.js';
import { Oracle } from './oracle.js';
import { Pilot } from './pilot/pilot.js';
import type { EstimatorSettings } from './settings.js';

export interface EstimatorKind {
  /** One line for help texts. */
  readonly title: string;
  /** How it is written. */
  readonly form: string;
  /** An argument that makes sense, where it takes one. */
  readonly example?: string;
  /**
   * It needs the truth, which only a replay has: it is asked before the job is submitted, and the cluster takes
   * what it says as given.
   */
  readonly needsTruth: boolean;
  /**
   * @param argument what stands after the colon; empty where nothing does
   * @param random the next number of a seeded stream, uniform in [0, 1)
   * @throws InputError when the argument makes no sense
   */
  make(argument: string, settings: EstimatorSettings, random: () => number): Estimator;
}

/** The one table of estimators: help texts, the compliance suite and the scoreboard read it. */
export const ESTIMATORS = {
  oracle: {
    title: 'the true mean task run time (replays only)',
    form: 'oracle',
    needsTruth: true,
    make: () => new Oracle(),
  },
  given: {
    title: 'what the submitter says',
    form: 'given',
    needsTruth: false,
    make: () => new Given(),
  },
  noisy: {
    title: 'the true mean times a number drawn for each job (replays only)',
    form: 'noisy:LOW-HIGH',
    example: '0.1-1.9',
    needsTruth: true,
    make: (range, _settings, random) => new Noisy(range, random),
  },
  pilot: {
    title: 'a few tasks of the job run first, and their mean tells (SLearn)',
    form: 'pilot',
    needsTruth: false,
    make: (_argument, settings) => new Pilot(settings),
  },
  history: {
    title: 'as long as jobs like it have run: of several features, the one that has told best (3Sigma)',
    form: 'history',
    needsTruth: false,
    make: (_argument, settings) => new HistoryEstimator(settings),
  },
  hybrid: {
    title: 'pilots, and history: each counts by how far off it has been; thin jobs by history alone',
    form: 'hybrid',
    needsTruth: false,
    make: (_argument, settings) => new Hybrid(settings),
  },
} as const satisfies Record<string, EstimatorKind>;

export type EstimatorName = keyof typeof ESTIMATORS;

export const ESTIMATOR_NAMES = Object.keys(ESTIMATORS) as EstimatorName[];

/** How they are written, for help texts: `oracle, given, noisy:LOW-HIGH`. */
export const ESTIMATOR_FORMS: string = Object.values(ESTIMATORS)
  .map(({ form }) => form)
  .join(', ');

/**
 * @param text `pilot`, `noisy:0.1-1.9`
 * @throws InputError that names the estimators there are
 */
export function estimatorKind(text: string): { readonly kind: EstimatorKind; readonly argument: string } {
  const colon = text.indexOf(':');
  const name = colon < 0 ? text : text.slice(0, colon);
  const argument = colon < 0 ? '' : text.slice(colon + 1);
  const kind: EstimatorKind | undefined = Object.hasOwn(ESTIMATORS, name)
    ? ESTIMATORS[name as EstimatorName]
    : undefined;
  if (kind === undefined || (argument !== '') !== (kind.example !== undefined)) {
    throw new InputError(
      'bad-option',
      `--estimator: there is no estimator "${text}"`,
      `known: ${ESTIMATOR_FORMS}`,
    );
  }
  return { kind, argument };
}

/** @throws InputError that names the estimators there are, or says what is wrong with the argument */
export function makeEstimator(text: string, settings: EstimatorSettings, random: () => number): Estimator {
  const { kind, argument } = estimatorKind(text);
  return kind.make(argument, settings, random);
}
