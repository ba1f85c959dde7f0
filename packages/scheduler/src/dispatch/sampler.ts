import {
  drawDistinct,
  effectiveScope,
  hasGangs,
  type JobSpec,
  type Millis,
  type PolicySettings,
  Random,
} from '@goshawk/core';
import {
  type ArrivingJob,
  type Estimator,
  Guarded,
  isKnownEstimator,
  makeEstimator,
  type Prediction,
  type SamplePlan,
  type Verdict,
} from '@goshawk/predictor';
import type { EstimatorStates } from '../contract.js';
import type { Stage } from '../job/batch.js';
import { decide, decideBy, UNDECIDED } from '../job/classify.js';
import type { Job } from '../job/job.js';
import { Sample } from '../job/sample.js';
import { TaskState } from '../job/task-state.js';
import { estimateRefined, jobClassified } from './routing.js';
import type { SearchState } from './search.js';
import { slowdownAt } from './slowdown.js';

/**
 * Connects the scheduler to its estimator. It requests an estimate for each arriving job, and starts pilots
 * if the estimator requires them. It passes run times of pilots and of ended jobs to the estimator.
 */
export class Sampler {
  readonly #s: SearchState;
  /** State of inactive estimators. */
  readonly #estimatorStates: Record<string, unknown>;
  #policy: PolicySettings | undefined;
  #estimator: Guarded | undefined;
  /** Number of exceptions and invalid answers of estimators. */
  failures = 0;
  /** Whether the estimator has learned since `takeEstimatorStates` was last called. */
  #hasLearned = false;

  constructor(s: SearchState) {
    this.#s = s;
    this.#estimatorStates = { ...s.config.estimatorStates };
  }

  /** Switches to the estimator that the policy names. It continues with its last saved state. */
  setPolicy(policy: PolicySettings): void {
    const before = this.#policy;
    this.#policy = policy;
    if (before !== undefined && isSameEstimator(before, policy)) return;
    if (this.#estimator !== undefined) this.#estimatorStates[this.#estimator.name] = this.#estimator.save();
    this.#estimator = new Guarded(this.#makeEstimator(policy), (error) => this.#failed(policy, error));
    this.#loadState(this.#estimator);
  }

  /** Returns the state of all estimators; undefined if unchanged since the last call. */
  takeEstimatorStates(): EstimatorStates | undefined {
    if (!this.#hasLearned || this.#estimator === undefined) return undefined;
    this.#hasLearned = false;
    return { ...this.#estimatorStates, [this.#estimator.name]: this.#estimator.save() };
  }

  #loadState(estimator: Guarded): void {
    const { name } = estimator;
    const state = this.#estimatorStates[name];
    delete this.#estimatorStates[name];
    if (state === undefined || state === null) return;
    try {
      estimator.load(state);
    } catch (error) {
      this.#s.env.estimatorStateRefused?.(name, (error as Error).message);
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
    const hasPilots = mayWait && !hasGangs({ stages }) && !this.#policy?.preset.gangs;
    return hasPilots ? prediction : withoutPilots(prediction);
  }

  /** Samples a job of an earlier incarnation that has no class yet. Tasks that have ended count as pilots. */
  resume(job: Job, now: Millis): void {
    this.#estimateRestored(job);
    if (job.hasPendingPredecessors) return;
    if (
      job.estimate.classifiedBy !== UNDECIDED ||
      job.estimate.sample !== undefined ||
      job.cancelling ||
      job.hasEnded
    )
      return;
    if (job.estimate.prediction.kind !== 'sample') return;
    this.startPilots(job, job.estimate.prediction);
    this.evaluatePilots(job, now);
  }

  /**
   * Estimates a restored job again. The journal does not contain estimates. A job without an estimate would
   * count as no work and go first.
   */
  #estimateRestored(job: Job): void {
    if (job.estimate.prediction.kind !== 'unknown') return;
    job.estimate.prediction = this.predict(job.arriving, job.spec);
    if (job.estimate.prediction.kind === 'unknown' || job.expectedRunMs > 0) return;
    const { estimateMs, guessMs, distribution } = decide(job.estimate.prediction, this.#policy!);
    job.estimate.restore({ estimateMs, guessMs, distribution });
  }

  /** Draws the pilots from the largest stage that may start immediately. */
  startPilots(job: Job, plan: SamplePlan): void {
    const { preset } = this.#policy!;
    const stage = largestInitialStage(job);
    const places = drawDistinct(this.#randomSourceFor(job.spec), stage.count, plan.pilots);
    const tasks = places.map((place) => stage.first + place);
    const over = effectiveScope(preset, preset.long.over);
    job.startSample(new Sample(plan, tasks, stage, job.stages, over));
  }

  /** Evaluates the pilots after an outcome, or after some time. */
  evaluatePilots(job: Job, now: Millis): void {
    const { sample } = job.estimate;
    if (sample === undefined || job.cancelling || job.hasEnded) return;
    if (sample.state === 'decided') return;
    const evidence = sample.evidence((task) => {
      const state = job.tasks.stateOf(task);
      if (state === TaskState.completed) return { ran: job.tasks.runMsOf(task) };
      if (state === TaskState.running) return { runs: Math.max(0, job.elapsedMs(task, now)) };
      return job.tasks.isFinal(task) ? 'failed' : 'waiting';
    });
    const verdict = this.#estimator!.weigh(job.arriving, sample.plan, evidence, this.#longThresholdMs());
    if (sample.state === 'refining') return this.#refine(job, verdict, now);
    if (verdict.kind === 'wait') return this.#s.env.setTimer('weigh', job.number, now + verdict.againInMs);
    this.#s.env.clearTimer('weigh', job.number);
    this.#decide(job, sample, verdict, now);
  }

  /**
   * Sets the final estimate of a job that was classified as long while its pilots still ran. It stays long.
   */
  #refine(job: Job, verdict: Verdict, now: Millis): void {
    if (verdict.kind === 'wait' || verdict.provisional) return;
    job.estimate.refine(verdict.estimate);
    this.#s.ledger.classified(job, now);
    estimateRefined(this.#s, job, now);
  }

  #decide(job: Job, sample: Sample, verdict: Exclude<Verdict, { kind: 'wait' }>, now: Millis): void {
    job.classify(decideBy(verdict.estimate, this.#policy!), verdict.provisional === true, now);
    this.#s.ledger.classified(job, now);
    this.#s.events.classified(job, now);
    this.#announceLong(job);
    jobClassified(this.#s, job, sample, now);
  }

  /**
   * Notifies workers that run tasks of the job that it is long. Probes behind these tasks may then be stolen.
   */
  #announceLong(job: Job): void {
    if (job.class === 'short') return;
    // Sent after the task itself, which may wait for the disk.
    for (const task of job.tasks.inStates(TaskState.running))
      this.#s.ledger.sendWhenDurable(job.tasks.workerOf(task), { type: 'nowLong', ...job.tasks.ref(task) });
  }

  /** Threshold above which a job is long before all pilots end. Without classes, all must end (SLearn §5.1.2). */
  #longThresholdMs(): Millis {
    const { preset, cutoffMs } = this.#policy!;
    return preset.byClass ? cutoffMs : Number.POSITIVE_INFINITY;
  }

  /** Passes the run times of an ended job to the estimator, once per job. */
  learn(job: Job): void {
    if (this.#policy === undefined || !this.#canLearn() || job.estimate.isLearned || job.taskCount === 0)
      return;
    const { completed, total } = job.counts;
    const isCompleted = completed === total;
    const runsMs = completed === 0 ? NO_RUNS : this.#normalizedRunMs(job);
    let sum = 0;
    for (let i = 0; i < runsMs.length; i++) sum += runsMs[i]!;
    this.#hasLearned = true;
    this.#estimator!.learn({
      job: job.arriving,
      prediction: job.estimate.prediction,
      completed: isCompleted,
      long: runsMs.length > 0 && sum / runsMs.length >= this.#policy.cutoffMs,
      runtimeMs: job.times.endedAt! - job.times.eligibleAt,
      runsMs,
    });
  }

  /** Run times of completed tasks, scaled to workers that the job prefers (3σPredict §4.1). */
  #normalizedRunMs(job: Job): Float64Array {
    if (job.spec.slowdown === undefined) return job.tasks.completedRunMs();
    const { members } = this.#s.cluster;
    return job.tasks.completedRunMs((task) => slowdownAt(job, job.tasks.workerOf(task), members));
  }

  /** The `given` estimator uses only submitters' estimates, so it learns nothing. */
  #canLearn(): boolean {
    return this.#policy?.estimator !== 'given';
  }

  #makeEstimator(policy: PolicySettings): Estimator {
    const random = () => this.#s.env.random();
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
    this.#s.env.estimatorFailed?.(estimator, error);
  }

  /** Returns the random source for pilots. A job with a seed always gets the same pilots, for reproducible runs. */
  #randomSourceFor({ seed }: JobSpec): { random(): number } {
    if (seed === undefined) return this.#s.env;
    const stream = Random.seeded(`pilots ${seed}`);
    return { random: () => stream.next() };
  }
}

const NO_RUNS = new Float64Array(0);

/** Uses the estimator's guess instead of pilots. */
function withoutPilots(prediction: Prediction): Prediction {
  if (prediction.kind !== 'sample' && prediction.kind !== 'thin') return prediction;
  const { guess, note } = prediction;
  return guess === undefined ? { kind: 'unknown', note } : { kind: 'estimate', estimate: guess, note };
}

function largestInitialStage(job: Job): Stage {
  const starting = job.stages.filter(({ blockers }) => blockers === 0);
  return starting.reduce((largest, stage) => (stage.count > largest.count ? stage : largest));
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
