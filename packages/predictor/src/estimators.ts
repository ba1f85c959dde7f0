import { describeThrownIn, InputError, LIMITS, misnamedField, quoted } from '@goshawk/core';
import type { Estimator } from './estimator.js';
import { type EstimatorFailed, Guarded } from './guarded.js';
import { HistoryEstimator } from './history/history-estimator.js';
import { inverseSquareEstimate, medianOf } from './history/points.js';
import { Hybrid } from './hybrid/hybrid.js';
import { SLearnDag } from './hybrid/slearn-dag.js';
import { Pilot } from './pilot/pilot.js';
import { type EstimatorSettings, SLEARN_SETTINGS } from './settings.js';
import { given, noisy, nothing, oracle, Stateless } from './stateless.js';

export interface EstimatorKind {
  /** One line for help texts. */
  readonly title: string;
  /** Argument after a colon, if any: its syntax, and a reasonable example. */
  readonly argument?: { readonly form: string; readonly example: string };
  /**
   * Needs the true run times, which only a replay knows. The replay calls it before submission and submits the result as
   * the user's estimate.
   */
  readonly needsTruth?: boolean;
  /** Estimates nothing; it only selects the order in which the policy `gs` serves jobs. */
  readonly orders?: boolean;
  /**
   * @param argument text after the colon; empty if there is none
   * @param random the next number of a seeded stream, uniform in [0, 1)
   * @throws InputError if the argument is invalid
   */
  make(argument: string, settings: EstimatorSettings, random: () => number): Estimator;
}

/** All estimators, in one table that help texts, the compliance suite and the scoreboard read. */
export const ESTIMATORS = {
  auto: {
    title: 'the submitter’s estimate; otherwise pilots, or history where it has proved accurate',
    make: (_argument, settings) => new Hybrid(settings, 'auto'),
  },
  oracle: {
    title: 'the true mean task run time (replays only)',
    needsTruth: true,
    make: () => new Stateless('oracle', oracle),
  },
  given: {
    title: 'the submitter’s estimate',
    make: () => new Stateless('given', given),
  },
  noisy: {
    title: 'the true mean times a random factor per job (replays only)',
    argument: { form: 'LOW-HIGH', example: '0.1-1.9' },
    needsTruth: true,
    make: (range, _settings, random) => noisy(range, random),
  },
  pilot: {
    title: 'a few tasks of the job run first, and their mean is the estimate (SLearn)',
    make: (_argument, settings) => new Pilot(settings),
  },
  history: {
    title: 'run times of similar jobs, by the feature that has predicted best (3Sigma)',
    make: (_argument, settings) => new HistoryEstimator('history', settings),
  },
  hybrid: {
    title: 'pilots and history, weighted by their past errors; small jobs by history alone',
    make: (_argument, settings) => new Hybrid(settings),
  },
  'slearn-dag': {
    title: 'for jobs with stages: pilots of the first stage correct the history of the others (SLearn)',
    make: (_argument, settings) => new SLearnDag(settings),
  },
  '3sigma': {
    title: 'the whole distribution of the history, with the utility 1 ÷ t² (a baseline of SLearn)',
    make: (_argument, settings) => new HistoryEstimator('3sigma', settings, inverseSquareEstimate),
  },
  '3sigma-tl': {
    title: 'as 3sigma, with priority for jobs of few tasks as with pilot (a baseline of SLearn)',
    make: (_argument, settings) =>
      new HistoryEstimator('3sigma-tl', settings, inverseSquareEstimate, settings.thinLimit),
  },
  'point-est': {
    title: 'the median of the history (a baseline of SLearn)',
    make: (_argument, settings) => new HistoryEstimator('point-est', settings, medianOf),
  },
  las: {
    title: 'no estimate: the job with the least attained service is next (under gs)',
    orders: true,
    make: () => new Stateless('las', nothing),
  },
  fifo: {
    title: 'no estimate: jobs run in order of arrival (under gs)',
    orders: true,
    make: () => new Stateless('fifo', nothing),
  },
} as const satisfies Record<string, EstimatorKind>;

type EstimatorName = keyof typeof ESTIMATORS;

/** Their syntax, for help texts: `oracle, given, noisy:LOW-HIGH`. */
export const ESTIMATOR_FORMS: string = Object.entries<EstimatorKind>(ESTIMATORS)
  .map(([name, { argument }]) => (argument === undefined ? name : `${name}:${argument.form}`))
  .join(', ');

/** Custom estimators that this process has loaded, by the path of their file. */
const CUSTOM_ESTIMATORS = new Map<string, EstimatorKind>();

/**
 * Registers the module as an estimator named by this path.
 *
 * @param path absolute
 * @param exported the default export of the file
 * @throws InputError that describes the violation of the contract
 */
export function addCustomEstimator(path: string, exported: unknown): void {
  const broken = (what: string): never => {
    throw brokenEstimator(path, what);
  };
  if (path.length > LIMITS.nameLengthMax) broken(`its path has more than ${LIMITS.nameLengthMax} characters`);
  const { title, needsTruth = false, make } = (exported ?? {}) as Partial<EstimatorKind>;
  const misnamed = misnamedField(Object(exported), ['title', 'needsTruth', 'make', 'argument', 'orders']);
  if (misnamed !== undefined) broken(misnamed);
  if (typeof title !== 'string' || title === '') return broken('"title" is not text');
  if (typeof needsTruth !== 'boolean') return broken('"needsTruth" is neither true nor false');
  if (typeof make !== 'function') return broken('its default export has no function "make"');
  const checked: EstimatorKind = {
    title,
    needsTruth,
    make: (...args) => madeByFile(path, () => make(...args)),
  };
  checked.make('', SLEARN_SETTINGS, () => 0.5);
  CUSTOM_ESTIMATORS.set(path, checked);
}

/**
 * Calls `make` of a custom estimator, which may fail each time that it is called.
 *
 * @throws InputError that describes what it threw, or what its estimator lacks
 */
function madeByFile(path: string, make: () => Estimator): Estimator {
  let estimator: Estimator | undefined;
  let problem: string | undefined;
  try {
    estimator = make();
    problem = missingIn(estimator);
  } catch (error) {
    problem = `"make" throws ${describeThrownIn(error, path)}`;
  }
  if (problem !== undefined) throw brokenEstimator(path, problem);
  return estimator!;
}

function missingIn(estimator: Partial<Estimator> | undefined): string | undefined {
  const methods = ['predict', 'weigh', 'learn', 'save', 'load'] as const;
  const missing = methods.find((method) => typeof estimator?.[method] !== 'function');
  if (missing !== undefined) return `the object that "make" returns has no function "${missing}"`;
  if (typeof estimator?.name !== 'string') return 'the estimator has no "name"';
  const hasLimit = (estimator.savedCharactersMax ?? 0) > 0;
  return hasLimit ? undefined : 'the estimator needs a "savedCharactersMax" above 0';
}

function brokenEstimator(path: string, what: string): InputError {
  const hint = 'the contract is EstimatorKind of @goshawk/predictor; docs/POLICIES.md explains it';
  return new InputError('bad-estimator', `--estimator ${path}: ${what}`, hint);
}

/**
 * @param text `pilot`, `noisy:0.1-1.9`, or the path of a registered file
 * @throws InputError that lists the estimators
 */
export function estimatorKind(
  text: string,
  option = '--estimator',
): { readonly kind: EstimatorKind; readonly argument: string } {
  const own = CUSTOM_ESTIMATORS.get(text);
  if (own !== undefined) return { kind: own, argument: '' };
  const colon = text.indexOf(':');
  const name = colon < 0 ? text : text.slice(0, colon);
  const argument = colon < 0 ? '' : text.slice(colon + 1);
  const kind: EstimatorKind | undefined = Object.hasOwn(ESTIMATORS, name)
    ? ESTIMATORS[name as EstimatorName]
    : undefined;
  if (kind === undefined || (argument !== '') !== (kind.argument !== undefined)) {
    throw new InputError(
      'bad-option',
      `${option}: there is no estimator ${quoted(text)}`,
      `known: ${ESTIMATOR_FORMS}`,
    );
  }
  return { kind, argument };
}

/** Returns whether the estimator is in the table or registered. */
export function isKnownEstimator(text: string): boolean {
  try {
    estimatorKind(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes an estimator whose faults go to `failed`. The submitters' estimates replace a custom one that cannot be made.
 *
 * @throws InputError that lists the estimators, or describes the invalid argument
 */
export function guardedEstimator(
  text: string,
  settings: EstimatorSettings,
  random: () => number,
  failed: EstimatorFailed,
): Guarded {
  try {
    return new Guarded(makeEstimator(text, settings, random), failed);
  } catch (error) {
    if (!CUSTOM_ESTIMATORS.has(text)) throw error;
    failed(error);
    return new Guarded(new Stateless(text, given), failed);
  }
}

/** @throws InputError that lists the estimators, or describes the invalid argument or what a custom one threw */
export function makeEstimator(text: string, settings: EstimatorSettings, random: () => number): Estimator {
  const { kind, argument } = estimatorKind(text);
  return kind.make(argument, settings, random);
}
