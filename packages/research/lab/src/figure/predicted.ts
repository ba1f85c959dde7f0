import { counted, Random } from '@goshawk/core';
import type { Trial } from '@goshawk/papers/figures';
import {
  type ArrivingJob,
  type Estimator,
  type EstimatorSettings,
  inverseSquareEstimate,
  makeEstimator,
  type Prediction,
  SLEARN_SETTINGS,
  simulatePilots,
} from '@goshawk/predictor';
import { summarise } from '@goshawk/report';
import type { TraceJob } from '@goshawk/traces';
import { arrivingJobOf } from '@goshawk/traces';
import { learnAll, type TrainingJob, trainedOn, trainingJobOf } from '../predict/past.js';
import { byEnd, drawInOrder, drawJobs, endOf, readExtracted } from './extract.js';
import { type FigureContext, type FigureRuns, inSteps, placesOf } from './figure-context.js';

/** Number of jobs drawn per experiment (SLearn §4.3). */
const JOBS_DRAWN = 1_250;
/** Maximum number of tasks of these jobs. */
export const TASKS_MAX = 150;
/** Minimum number of tasks of a job whose errors count. */
const WIDE_TASKS = 3;

/** The figure has no job classes, so no sample is cut short. */
const NO_CUTOFF = Number.POSITIVE_INFINITY;

const ESTIMATORS = ['pilot', 'history', 'hybrid'];
const SETTINGS: EstimatorSettings = { ...SLEARN_SETTINGS, withDistribution: () => true };

/**
 * Returns the errors of a predicted figure's estimators on jobs drawn from a workload, once per seed. The
 * axis shows percentiles of the errors, so every tick has the same errors.
 *
 * @throws WorkloadError; InterruptedError
 */
export async function runPredicted(
  making: FigureContext,
): Promise<FigureRuns<readonly number[]> & { readonly trials: readonly Trial[] }> {
  const { context, store, chosen, options } = making;
  const { seeds, features, history } = options;
  return inSteps(making, seeds, ['draw', 'predicted'], async (step) => {
    const from = { workload: chosen.workload, features, history, tasksMax: TASKS_MAX };
    const { record, past, jobs } = await store.once(['extract', from], () => readExtracted(context, from));
    context.note(
      `${chosen.figure.id}: ${counted(past.length, 'job')} to learn from, ${counted(jobs.length, 'job')} to draw from`,
    );
    const predictors = new Predictors(past);
    const draws: Readonly<Record<string, readonly number[]>>[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      const made = () => predictors.draw(jobs, seed);
      draws.push(await step(() => store.run(['draw', from, seed], made)));
    }
    const { name: jobsOf, sha256 } = record;
    const trials = draws.flatMap((errors, index) =>
      Object.entries(errors).map(
        ([variant, ofJobs]): Trial => ({
          ...{ x: 0, label: '', variant, seed: index + 1, workload: { name: jobsOf, sha256 } },
          options: { estimator: variant, jobsDrawn: JOBS_DRAWN, tasksMax: TASKS_MAX, pastJobs: past.length },
          results: { errors: summarise(ofJobs) },
        }),
      ),
    );
    const places = placesOf(chosen, (_, { name }) => draws.map((errors) => errors[name]!));
    return { workload: record, places, trials };
  });
}

/** A figure's estimators, trained on the past jobs. Each draw starts from this state. */
export class Predictors {
  readonly #estimatorStates: Readonly<Record<string, unknown>>;

  constructor(past: readonly TrainingJob[]) {
    this.#estimatorStates = trainedOn(ESTIMATORS, past, { ...SETTINGS, cutoffMs: NO_CUTOFF });
  }

  /**
   * Draws jobs and predicts each at its submission. A job ends with its longest task, and estimators then
   * learn from it.
   *
   * @returns |estimate − truth| ÷ truth by variant, for the drawn jobs of three or more tasks
   */
  draw(jobs: readonly TraceJob[], seed: number): Record<'pilot' | '3sigma' | 'history' | 'hybrid', number[]> {
    const random = Random.seeded(seed).fork('slearn-error');
    const [pilot, history, hybrid] = ESTIMATORS.map((name) => this.#trained(name));
    const errors = { pilot: [], '3sigma': [], history: [], hybrid: [] } as Record<
      'pilot' | '3sigma' | 'history' | 'hybrid',
      number[]
    >;
    const queue = new EndQueue();
    for (const traced of drawJobs(jobs, JOBS_DRAWN, random)) {
      const ended = trainingJobOf(traced);
      const job = arrivingJobOf(traced);
      for (const each of queue.until(job.submittedAt)) {
        for (const estimator of [pilot!, history!, hybrid!]) learnAll(estimator, [each], NO_CUTOFF);
      }
      queue.add(ended);
      if (job.tasks < WIDE_TASKS) continue;
      const note = (variant: keyof typeof errors, estimateMs: number | undefined) => {
        const truth = job.trueMeanMs!;
        if (estimateMs === undefined || !(truth > 0)) return;
        errors[variant].push(Math.abs(estimateMs - truth) / truth);
      };
      note('pilot', estimateOf(pilot!, job, pilot!.predict(job), ended, random));
      note('hybrid', estimateOf(hybrid!, job, hybrid!.predict(job), ended, random));
      const prediction = history!.predict(job);
      if (prediction.kind !== 'estimate') continue;
      note('history', prediction.estimate.meanMs);
      note('3sigma', inverseSquareEstimate(prediction.estimate.distribution ?? []));
    }
    return errors;
  }

  #trained(name: string): Estimator {
    const estimator = makeEstimator(name, SETTINGS, () => 0);
    estimator.load(this.#estimatorStates[name]);
    return estimator;
  }
}

/** Returns the estimate of a job; if the prediction is to sample the job, runs its pilots first. */
function estimateOf(
  estimator: Estimator,
  job: ArrivingJob,
  prediction: Prediction,
  { runsMs }: TrainingJob,
  random: Random,
): number | undefined {
  if (prediction.kind === 'estimate') return prediction.estimate.meanMs;
  if (prediction.kind !== 'sample') return undefined;
  const pilots = drawInOrder(runsMs.length, prediction.pilots, random).map((task) => runsMs[task]!);
  return simulatePilots(estimator, job, prediction, pilots, NO_CUTOFF)?.estimate.meanMs;
}

/** Running jobs; estimators learn from them when they end. */
class EndQueue {
  #jobs: TrainingJob[] = [];

  add(job: TrainingJob): void {
    this.#jobs.push(job);
  }

  /** Removes the jobs that have ended by then, and returns them in order. */
  until(now: number): TrainingJob[] {
    const ended = this.#jobs.filter((job) => endOf(job) <= now).sort(byEnd);
    if (ended.length > 0) this.#jobs = this.#jobs.filter((job) => endOf(job) > now);
    return ended;
  }
}
