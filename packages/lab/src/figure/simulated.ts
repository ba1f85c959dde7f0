import { type Context, optionsGiven } from '@goshawk/cli';
import { formatCount } from '@goshawk/core';
import type { FinishedRun, RunSettings, RunsAt, Tick, Variant } from '@goshawk/figures';
import type { Workload } from '@goshawk/report';
import { networkOf } from '../simulate/network.js';
import { SIMULATE_OPTIONS, type SimulateOptions } from '../simulate/options.js';
import { planRuns, sizeOf } from '../simulate/plan.js';
import type { RunOutcome, RunRequest } from '../simulate/request.js';
import { performShown, sourceOf, surveyShown } from '../simulate/shown.js';
import type { Survey } from '../simulate/survey.js';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import type { RunStore } from './run-store.js';

/** What `goshawk simulate` does when nobody says anything: neither the environment nor a file has a say here. */
export const DEFAULTS: SimulateOptions = optionsGiven(SIMULATE_OPTIONS);

export interface FigureRuns {
  readonly workload: Workload;
  readonly runs: readonly RunsAt[];
}

/**
 * All runs of a simulated figure, but for those that another figure has made already.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws WorkloadError; InterruptedError; InputError when the cluster cannot be as it is asked for
 */
export async function runSimulated(
  context: Context,
  store: RunStore,
  { figure, axis, workers, workload }: ChosenFigure,
  { seeds, parallel, on }: FigureOptions,
  lost: string,
): Promise<FigureRuns> {
  const surveyed = await store.survey(workload, () => surveyShown(context, workload));
  const requestsOf = (tick: Tick, variant: Variant): RunRequest[] => {
    const size = workers === undefined ? {} : { workers };
    const settings = { ...figure.settings, ...size, ...tick.settings, ...variant.settings };
    return requestsFor(settings, seeds, surveyed).map((request) => ({ ...request, wantsJobTimes: true }));
  };
  const all = axis.ticks.flatMap((tick) => figure.variants.flatMap((variant) => requestsOf(tick, variant)));
  const missing = store.missing(workload, all);
  if (missing.length > 0) {
    const { jobs, tasks } = surveyed.record;
    context.note(
      `${figure.id}: ${missing.length} runs of ${surveyed.record.name}, ${formatCount(jobs)} jobs with ${formatCount(tasks)} tasks`,
    );
    const source = sourceOf(workload, surveyed);
    const outcomes = await performShown(context, missing, source, { parallel, on, label: figure.id, lost });
    const { spanSeconds } = surveyed.record;
    for (const [i, outcome] of outcomes.entries()) {
      store.keep(workload, missing[i]!, finished(outcome, spanSeconds));
    }
  }
  return {
    workload: surveyed.record,
    runs: axis.ticks.map((tick) => ({
      tick,
      byVariant: Object.fromEntries(
        figure.variants.map((variant) => [
          variant.name,
          requestsOf(tick, variant).map((request) => store.finished(workload, request)),
        ]),
      ),
    })),
  };
}

/** One request a seed. */
export function requestsFor(settings: RunSettings, seeds: number, surveyed: Survey, seed = 1): RunRequest[] {
  const options: SimulateOptions = { ...DEFAULTS, ...settings, load: undefined, seeds, seed };
  return planRuns(options, surveyed, sizeOf(options, surveyed), networkOf(options, process.cwd()));
}

/** @param submittedSeconds from the first submission to the last */
export function finished({ run, series, jobTimes }: RunOutcome, submittedSeconds: number): FinishedRun {
  const done = { run, series, submittedSeconds };
  return jobTimes === undefined ? done : { ...done, jobs: jobTimes };
}
