import { LIMITS, messageOfThrown, type Segment, sumOf } from '@goshawk/core';
import type {
  ArrivingJob,
  EndedJob,
  Estimate,
  Estimator,
  Evidence,
  Prediction,
  SamplePlan,
  Verdict,
} from './estimator.js';
import { WAIT_MIN_MS } from './pilot/weigh-pilots.js';
import { given } from './stateless.js';

/** Number of faults, with the first and the last one. */
interface Faults {
  count: number;
  first: string;
  last: string;
}

/** @param error what the estimator threw, or a text that describes its invalid answer */
export type EstimatorFailed = (error: unknown) => void;

/**
 * Protects callers from a faulty estimator: reports its exceptions and invalid answers, and replaces them. `predict` falls
 * back to the submitter's estimate, or to none. `weigh` falls back to the mean of the ended pilots once all have ended.
 * `learn` skips the job.
 */
export class Guarded implements Estimator {
  readonly #inner: Estimator;
  readonly name: string;
  readonly faults: Faults = { count: 0, first: '', last: '' };

  readonly #failed: EstimatorFailed;

  /** @param failed receives each fault; if it throws, the call throws */
  constructor(inner: Estimator, failed: EstimatorFailed = () => {}) {
    this.#inner = inner;
    this.name = inner.name;
    this.#failed = failed;
  }

  get savedCharactersMax(): number {
    return this.#inner.savedCharactersMax;
  }

  predict(job: ArrivingJob): Prediction {
    return this.#try(
      'predict',
      () => this.#inner.predict(job),
      (prediction) => problemOf(prediction, job),
      () => given(job),
    );
  }

  weigh(job: ArrivingJob, prediction: SamplePlan, evidence: Evidence, cutoffMs: number): Verdict {
    return this.#try(
      'weigh',
      () => this.#inner.weigh(job, prediction, evidence, cutoffMs),
      (verdict) => {
        if (verdict.kind === 'decided') return problemOfEstimate(verdict.estimate, job);
        // All pilots have ended, so waiting would never stop.
        if (isComplete(evidence)) return 'no decision although all pilots have ended';
        return verdict.againInMs >= WAIT_MIN_MS
          ? undefined
          : `a request for the next call after ${verdict.againInMs} ms`;
      },
      () => (isComplete(evidence) ? fallbackVerdict(evidence) : NEVER),
    );
  }

  learn(ended: EndedJob): void {
    this.#try(
      'learn',
      () => this.#inner.learn(ended),
      () => undefined,
      () => undefined,
    );
  }

  save(): unknown {
    return this.#try(
      'save',
      () => this.#inner.save(),
      () => undefined,
      () => undefined,
    );
  }

  /** @throws InputError if the state is not from this kind of estimator */
  load(saved: unknown): void {
    this.#inner.load(saved);
  }

  #try<T>(method: string, act: () => T, validate: (result: T) => string | undefined, instead: () => T): T {
    let problem: string | undefined;
    let reported: unknown;
    try {
      const result = act();
      problem = validate(result);
      if (problem === undefined) return result;
      reported = `${method}: ${problem}`;
    } catch (error) {
      problem = messageOfThrown(error);
      reported = error;
    }
    const { faults } = this;
    faults.count++;
    if (faults.first === '') faults.first = problem;
    faults.last = problem;
    this.#failed(reported);
    return instead();
  }
}

const NEVER: Verdict = { kind: 'wait', againInMs: Number.POSITIVE_INFINITY };

function isComplete({ pilots, runsMs, failed }: Evidence): boolean {
  return runsMs.length + failed >= pilots;
}

/** Returns the mean of the completed pilots, or of the failed attempts if none completed. */
function fallbackVerdict({ runsMs, failedRunsMs }: Evidence): Verdict {
  const counted = runsMs.length > 0 ? runsMs : failedRunsMs;
  const sum = sumOf(counted);
  return {
    kind: 'decided',
    estimate: { meanMs: counted.length === 0 ? 0 : sum / counted.length, by: 'pilots' },
  };
}

function problemOf(prediction: Prediction, job: ArrivingJob): string | undefined {
  switch (prediction.kind) {
    case 'estimate':
      return problemOfEstimate(prediction.estimate, job);
    case 'sample': {
      const { pilots, guess } = prediction;
      if (!Number.isInteger(pilots) || pilots < 1 || pilots > job.startable)
        return `${pilots} pilots of ${job.startable} tasks`;
      return guess === undefined ? undefined : problemOfEstimate(guess, job);
    }
    case 'thin':
      return prediction.guess === undefined ? undefined : problemOfEstimate(prediction.guess, job);
    case 'unknown':
      return undefined;
    default:
      return `a prediction of kind ${String((prediction as { kind: unknown }).kind)}`;
  }
}

/** Returns the problem of an estimate, which must also fit into a message. */
function problemOfEstimate(
  { meanMs, varianceMs2, by, distribution, stagesMs }: Estimate,
  job: ArrivingJob,
): string | undefined {
  if (!isTime(meanMs)) return `an estimate of ${meanMs} ms`;
  if (typeof by !== 'string' || by.length > LIMITS.nameLengthMax)
    return `an estimate whose source is not text of at most ${LIMITS.nameLengthMax} characters`;
  if (distribution !== undefined && !isDistribution(distribution)) return 'an invalid distribution';
  if (varianceMs2 !== undefined && !(varianceMs2 >= 0)) return `a variance of ${varianceMs2} ms²`;
  if (stagesMs === undefined) return undefined;
  if (stagesMs.length === job.stages?.length && stagesMs.every(isTime)) return undefined;
  return `estimates of ${stagesMs.join(', ')} ms for ${job.stages?.length ?? 'no'} stages`;
}

function isTime(ms: number): boolean {
  return ms >= 0 && ms <= LIMITS.wireMsMax;
}

function isDistribution(segments: readonly Segment[]): boolean {
  const isSegment = ({ from, to, p }: Segment) =>
    isTime(from) && isTime(to) && from <= to && p >= 0 && p <= 1;
  return segments.length <= LIMITS.segmentsMax && segments.every(isSegment);
}
