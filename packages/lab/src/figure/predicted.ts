import { counted } from '@goshawk/core';
import { readExtracted } from './extract.js';
import { type FigureRuns, type Making, placesOf } from './making.js';
import { Predictors, TASKS_MAX } from './predictions.js';
import { inSteps } from './steps.js';

/**
 * How wrong the estimators of a predicted figure are about jobs drawn from a workload, once for each seed; the same at
 * each place of the axis, which is a percentile.
 *
 * @throws WorkloadError; InterruptedError
 */
export async function runPredicted(making: Making): Promise<FigureRuns<readonly number[]>> {
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
    for (let seed = 1; seed <= seeds; seed++) draws.push(await step(() => predictors.draw(jobs, seed)));
    return {
      workload: record,
      places: placesOf(chosen, (_, { name }) => draws.map((errors) => errors[name]!)),
    };
  });
}
