import { hasGangs, type JobSpec, type Millis, messageOfThrown, type PolicySettings } from '@goshawk/core';
import {
  type ArrivingJob,
  type EndedJob,
  type Estimator,
  type Evidence,
  Guarded,
  isKnownEstimator,
  makeEstimator,
  type Prediction,
  type SamplePlan,
  type Verdict,
} from '@goshawk/predictor';
import type { EstimatorStates, SchedulerEnvironment } from '../contract.js';

/**
 * The estimator that the policy names, and the saved states of the others. It predicts arriving jobs, and learns the run
 * times of ended ones.
 */
export class Estimators {
  readonly #env: SchedulerEnvironment;
  /** State of inactive estimators. */
  readonly #states: Record<string, unknown>;
  #policy: PolicySettings | undefined;
  #estimator: Guarded | undefined;
  /** Number of exceptions and invalid answers of estimators. */
  failures = 0;
  /** Whether the estimator has learned since `takeStates` was last called. */
  #hasLearned = false;

  constructor(env: SchedulerEnvironment, states: EstimatorStates | undefined) {
    this.#env = env;
    this.#states = { ...states };
  }

  /** The policy in force; undefined before the first welcome. */
  get policy(): PolicySettings | undefined {
    return this.#policy;
  }

  /** Switches to the estimator that the policy names. It continues with its last saved state. */
  setPolicy(policy: PolicySettings): void {
    const before = this.#policy;
    this.#policy = policy;
    if (before !== undefined && isSameEstimator(before, policy)) return;
    if (this.#estimator !== undefined) this.#states[this.#estimator.name] = this.#estimator.save();
    this.#estimator = new Guarded(this.#makeEstimator(policy), (error) => this.#failed(policy, error));
    this.#loadState(this.#estimator);
  }

  /** Returns the state of all estimators; undefined if unchanged since the last call. */
  takeStates(): EstimatorStates | undefined {
    if (!this.#hasLearned || this.#estimator === undefined) return undefined;
    this.#hasLearned = false;
    return { ...this.#states, [this.#estimator.name]: this.#estimator.save() };
  }

  #loadState(estimator: Guarded): void {
    const { name } = estimator;
    const state = this.#states[name];
    delete this.#states[name];
    if (state === undefined || state === null) return;
    try {
      estimator.load(state);
    } catch (error) {
      this.#env.estimatorStateRefused?.(name, messageOfThrown(error));
    }
  }

  /**
   * Returns the estimator's answer about an arriving job. Three kinds of jobs get no pilots: gangs start all
   * tasks together, tasks of open jobs are not known yet, and retries may have too few tasks.
   */
  predict(
    arriving: ArrivingJob,
    spec: Partial<Pick<JobSpec, 'openMs' | 'stages' | 'retryOf'>> = {},
  ): Prediction {
    const prediction = this.#estimator?.predict(arriving) ?? { kind: 'unknown' };
    const { openMs, stages = [], retryOf } = spec;
    const mayWait = openMs === undefined && retryOf === undefined;
    const hasPilots = mayWait && !hasGangs({ stages }) && this.#policy?.preset.gangs !== 'all';
    return hasPilots ? prediction : withoutPilots(prediction);
  }

  /** Evaluates the pilots of a job by what is known of them. */
  weigh(arriving: ArrivingJob, plan: SamplePlan, evidence: Evidence): Verdict {
    return this.#estimator!.weigh(arriving, plan, evidence, this.#longThresholdMs());
  }

  /** Threshold above which a job is long before all pilots end. Without classes, all must end (SLearn §5.1.2). */
  #longThresholdMs(): Millis {
    const { preset, cutoffMs } = this.#policy!;
    return preset.byClass ? cutoffMs : Number.POSITIVE_INFINITY;
  }

  /** Whether the estimator learns from ended jobs: `given` uses only submitters' estimates. */
  get canLearn(): boolean {
    return this.#policy !== undefined && this.#policy.estimator !== 'given';
  }

  /** Learns the run times of an ended job. */
  learn(ended: EndedJob): void {
    this.#hasLearned = true;
    this.#estimator!.learn(ended);
  }

  #makeEstimator(policy: PolicySettings): Estimator {
    const random = () => this.#env.random();
    const { declares, byClass } = policy.preset;
    const settings = {
      ...policy,
      // Distributions of short jobs would only refine the ends of overdue short tasks, at a cost per job.
      withDistribution: (job: ArrivingJob, estimateMs: Millis) =>
        declares && (!byClass || job.hasDeadline === true || estimateMs >= this.#policy!.cutoffMs),
      sampling: byClass,
    };
    try {
      return makeEstimator(policy.estimator, settings, random);
    } catch (error) {
      // An estimator of a newer version of central is unknown here; estimates of submitters are better than nothing.
      if (isKnownEstimator(policy.estimator)) this.#failed(policy, error);
      return makeEstimator('given', settings, random);
    }
  }

  #failed({ estimator }: PolicySettings, error: unknown): void {
    this.failures++;
    this.#env.estimatorFailed?.(estimator, error);
  }
}

/** Uses the estimator's guess instead of pilots. */
function withoutPilots(prediction: Prediction): Prediction {
  if (prediction.kind !== 'sample' && prediction.kind !== 'thin') return prediction;
  const { guess, note } = prediction;
  return guess === undefined ? { kind: 'unknown', note } : { kind: 'estimate', estimate: guess, note };
}

function isSameEstimator(one: PolicySettings, other: PolicySettings): boolean {
  return (
    one.estimator === other.estimator &&
    one.preset.declares === other.preset.declares &&
    one.preset.byClass === other.preset.byClass &&
    one.pilotRatio === other.pilotRatio &&
    one.pilotsMax === other.pilotsMax &&
    one.pilotQuorum === other.pilotQuorum &&
    one.pilotPrior === other.pilotPrior &&
    one.thinLimit === other.thinLimit &&
    String(one.features) === String(other.features)
  );
}
