import { InputError, type Millis } from '@goshawk/core';
import type { ArrivingJob, Estimator, Prediction, Verdict } from './estimator.js';
import { estimateOfStages } from './stages.js';

type Predict = (job: ArrivingJob) => Prediction;

/** An estimator that neither samples nor learns: it uses only the job and its settings. */
export class Stateless implements Estimator {
  readonly name: string;
  readonly predict: Predict;
  readonly savedCharactersMax = 4;

  constructor(name: string, predict: Predict) {
    this.name = name;
    this.predict = predict;
  }

  weigh(): Verdict {
    return { kind: 'wait', againInMs: Number.POSITIVE_INFINITY };
  }

  learn(): void {}

  save(): null {
    return null;
  }

  load(saved: unknown): void {
    if (saved !== null) throw notSavedBy(this.name);
  }
}

export function notSavedBy(name: string): InputError {
  return new InputError(
    'bad-estimator-state',
    `the saved state is not from the estimator ${name}`,
    'start without it; the estimator will learn again',
  );
}

/** Estimates nothing: the scheduler orders jobs by something other than their size. */
export function nothing(): Prediction {
  return { kind: 'unknown' };
}

/** Returns the submitter’s estimate, if there is one. */
export function given({ givenMs }: ArrivingJob): Prediction {
  return givenMs === undefined ? nothing() : { kind: 'estimate', estimate: { meanMs: givenMs, by: 'given' } };
}

/** Returns the true mean run time of the job's tasks, which only a replay knows. */
export function oracle({ trueMeanMs, stages }: ArrivingJob): Prediction {
  if (trueMeanMs === undefined) return nothing();
  const ofStages =
    stages === undefined ? {} : { stagesMs: stages.map((stage) => stage.trueMeanMs ?? trueMeanMs) };
  return { kind: 'estimate', estimate: { meanMs: trueMeanMs, varianceMs2: 0, by: 'oracle', ...ofStages } };
}

/**
 * Returns an estimator that multiplies the true mean by a factor drawn uniformly from a range, per job (Hawk Figure 14)
 * or per stage.
 *
 * @param range `0.1-1.9`
 * @throws InputError for an invalid range
 */
export function noisy(range: string, random: () => number): Stateless {
  const parts = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(range);
  const [low, high] = [Number(parts?.[1]), Number(parts?.[2])];
  if (parts === null || low > high) {
    const wrong = parts === null ? `"${range}" is not a range` : `${low} is above ${high}`;
    throw new InputError('bad-option', `--estimator: noisy:${range}: ${wrong}`, 'write noisy:0.1-1.9');
  }
  const by = `noisy:${range}`;
  const drawn = (ms: Millis) => ms * (low + (high - low) * random());
  return new Stateless(by, (job) => {
    const { trueMeanMs, stages } = job;
    if (trueMeanMs === undefined) return nothing();
    if (stages === undefined) return { kind: 'estimate', estimate: { meanMs: drawn(trueMeanMs), by } };
    const stagesMs = stages.map((stage) => drawn(stage.trueMeanMs ?? trueMeanMs));
    return { kind: 'estimate', estimate: estimateOfStages(job, stagesMs, by) };
  });
}
