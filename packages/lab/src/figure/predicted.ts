import { setImmediate } from 'node:timers/promises';
import { type Context, counted, startProgress, untilInterrupted } from '@goshawk/cli';
import type { Predicted } from '@goshawk/figures';
import type { ChosenFigure } from './choose.js';
import { readExtracted } from './extract.js';
import type { FigureOptions } from './options.js';
import { Predictors, TASKS_MAX } from './predictions.js';
import type { RunStore } from './run-store.js';

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
  let done = 0;
  const work = async () => {
    const from = { workload: spec, features, history, tasksMax: TASKS_MAX };
    const { record, ...extracted } = await store.once(['extract', from], () => readExtracted(context, from));
    context.note(
      `${figure.id}: ${counted(extracted.past.length, 'job')} to learn from, ${counted(extracted.jobs.length, 'job')} to draw from`,
    );
    const progress = startProgress(context, figure.id, seeds);
    try {
      const predictors = new Predictors(extracted.past);
      const draws = [];
      for (; done < seeds; done++) {
        await setImmediate();
        context.interrupted.throwIfAborted();
        draws.push(predictors.draw(extracted.jobs, done + 1));
        progress.update(done + 1);
      }
      return { workload: record, draws };
    } finally {
      progress.stop();
    }
  };
  return untilInterrupted(
    context,
    work,
    () => `${done} of ${counted(seeds, 'draw')} were predicted; ${lost}`,
  );
}
