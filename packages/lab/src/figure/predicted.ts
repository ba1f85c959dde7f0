import type { Context } from '@goshawk/cli';
import { counted } from '@goshawk/core';
import type { Predicted } from '@goshawk/figures';
import type { ChosenFigure } from './choose.js';
import { readExtracted } from './extract.js';
import type { FigureOptions } from './options.js';
import { Predictors, TASKS_MAX } from './predictions.js';
import type { RunStore } from './run-store.js';
import { inSteps } from './steps.js';

/**
 * What the estimators of a predicted figure say of jobs drawn from a workload, once for each seed.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws WorkloadError; InterruptedError
 */
export async function runPredicted(
  context: Context,
  store: RunStore,
  { figure, workload: spec }: ChosenFigure,
  { seeds, features, history }: FigureOptions,
  lost: string,
): Promise<Pick<Predicted, 'workload' | 'draws'>> {
  return inSteps(context, figure.id, seeds, ['draw', 'predicted'], lost, async (step) => {
    const from = { workload: spec, features, history, tasksMax: TASKS_MAX };
    const { record, ...extracted } = await store.once(['extract', from], () => readExtracted(context, from));
    context.note(
      `${figure.id}: ${counted(extracted.past.length, 'job')} to learn from, ${counted(extracted.jobs.length, 'job')} to draw from`,
    );
    const predictors = new Predictors(extracted.past);
    const draws = [];
    for (let seed = 1; seed <= seeds; seed++)
      draws.push(await step(() => predictors.draw(extracted.jobs, seed)));
    return { workload: record, draws };
  });
}
