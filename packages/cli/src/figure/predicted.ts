import { setImmediate } from 'node:timers/promises';
import type { Predicted } from '@goshawk/figures';
import { readPastJobs, type TraceJob } from '@goshawk/traces';
import type { Context } from '../context.js';
import { untilInterrupted } from '../interruption.js';
import { counted } from '../jobs/words.js';
import { learntFromPast } from '../predict/past.js';
import { survey } from '../simulate/survey.js';
import { startProgress } from '../terminal/progress.js';
import { jobsShown, openShown } from '../workload.js';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import { extract, Predictors } from './predictions.js';

/**
 * What the estimators of a predicted figure say of jobs drawn from a workload, once for each seed.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws WorkloadError; InterruptedError
 */
export async function runPredicted(
  context: Context,
  { figure, workload: spec }: ChosenFigure,
  { seeds, features, history }: FigureOptions,
  lost: string,
): Promise<Pick<Predicted, 'workload' | 'draws'>> {
  let done = 0;
  const work = async () => {
    const workload = await openShown(context, spec, undefined, features);
    const jobs: TraceJob[] = [];
    const { record } = await survey(
      workload,
      kept(jobsShown(context, workload, 'reading jobs'), jobs),
      context.interrupted,
    );
    const past = history === undefined ? undefined : learntFromPast(await readPastJobs(history));
    const extracted = extract(jobs, past);
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

/** What passes, put down on the way. */
async function* kept(jobs: AsyncIterable<TraceJob>, into: TraceJob[]): AsyncGenerator<TraceJob> {
  for await (const job of jobs) {
    into.push(job);
    yield job;
  }
}
