import { type Context, untilInterrupted } from '@goshawk/cli';
import { counted, present, Random } from '@goshawk/core';
import type { RunSettings, RunsAt, Tick, Variant } from '@goshawk/figures';
import { estimatorKind, SLEARN_SETTINGS } from '@goshawk/predictor';
import { packed, type TraceJob } from '@goshawk/traces';
import { type TrainingJob, trainedOn } from '../predict/past.js';
import { networkOf } from '../simulate/network.js';
import type { SimulateOptions } from '../simulate/options.js';
import { planRuns, sizeOf } from '../simulate/plan.js';
import type { RunRequest } from '../simulate/request.js';
import { performShown, sourceOf } from '../simulate/shown.js';
import { type Survey, survey } from '../simulate/survey.js';
import type { ChosenFigure } from './choose.js';
import { drawJobs, readExtracted } from './extract.js';
import type { FigureOptions } from './options.js';
import type { RunStore } from './run-store.js';
import { DEFAULTS, type FigureRuns, finished } from './simulated.js';

/** The jobs of one seed, as a workload of their own. */
interface Draw {
  readonly seed: number;
  /** Names it among all that are drawn. */
  readonly workload: string;
  readonly surveyed: Survey;
}

/**
 * All runs of a simulated figure whose seeds are draws of jobs, but for those that another figure has made already.
 * Estimators begin with what they have learnt from the jobs that ended before.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws WorkloadError; InterruptedError; InputError when the cluster cannot be as it is asked for
 */
export async function runDrawn(
  context: Context,
  store: RunStore,
  { figure, axis, workers, workload }: ChosenFigure,
  { seeds, parallel, on, features, history }: FigureOptions,
  lost: string,
): Promise<FigureRuns> {
  const { jobs, tasksMax } = figure.workload.draw!;
  const from = { workload, features, history, tasksMax };
  const read = () => readExtracted(context, from);
  const extracted = await untilInterrupted(
    context,
    () => store.once(['extract', from], read),
    () => `the workload was still being read; ${lost}`,
  );
  const draws = await Promise.all(
    Array.from({ length: seeds }, (_, index) =>
      store.once(['draw', from, jobs, index + 1], () => drawOf(extracted.jobs, jobs, from, index + 1)),
    ),
  );
  const settingsOf = (tick: Tick, variant: Variant): RunSettings => ({
    ...figure.settings,
    ...present({ workers }),
    ...tick.settings,
    ...variant.settings,
  });
  const requestOf = (tick: Tick, variant: Variant, draw: Draw) => requestFor(settingsOf(tick, variant), draw);
  const estimators = axis.ticks.flatMap((tick) =>
    figure.variants.map((variant) => settingsOf(tick, variant).estimator ?? DEFAULTS.estimator),
  );
  const estimatorStates = new Map<string, Record<string, unknown>>();
  for (const name of new Set(estimators.filter(doesLearn))) {
    estimatorStates.set(
      name,
      await store.once(['learnt', from, name], async () => learn(name, extracted.past)),
    );
  }
  context.note(
    `${figure.id}: ${counted(seeds, 'draw')} of ${counted(jobs, 'job')} from ${counted(extracted.jobs.length, 'job')}, ` +
      `${counted(extracted.past.length, 'job')} to learn from`,
  );
  for (const draw of draws) {
    const all = axis.ticks.flatMap((tick) => figure.variants.map((each) => requestOf(tick, each, draw)));
    const missing = store.missing(draw.workload, all);
    if (missing.length === 0) continue;
    const requests = missing.map((request) => ({
      ...request,
      estimatorStates: estimatorStates.get(request.estimator) ?? {},
    }));
    const label = `${figure.id}, draw ${draw.seed} of ${seeds}`;
    const source = sourceOf(draw.workload, draw.surveyed);
    const outcomes = await performShown(context, requests, source, { parallel, on, label, lost });
    for (const [i, outcome] of outcomes.entries()) {
      const submitted = draw.surveyed.record.spanSeconds * missing[i]!.arrivalFactor;
      store.keep(draw.workload, missing[i]!, finished(outcome, submitted));
    }
  }
  const runsOf = (tick: Tick, variant: Variant) =>
    draws.map((draw) => store.finished(draw.workload, requestOf(tick, variant, draw)));
  return {
    workload: extracted.record,
    runs: axis.ticks.map(
      (tick): RunsAt => ({
        tick,
        byVariant: Object.fromEntries(figure.variants.map((each) => [each.name, runsOf(tick, each)])),
      }),
    ),
  };
}

async function drawOf(from: readonly TraceJob[], wanted: number, key: unknown, seed: number): Promise<Draw> {
  const jobs = drawJobs(from, wanted, Random.seeded(seed).fork('draw'));
  const name = `draw ${seed}`;
  const workload = {
    name,
    tallied: [],
    sha256: async () => name,
  };
  return {
    seed,
    workload: JSON.stringify([key, wanted, seed]),
    surveyed: await survey(workload, [packed(jobs)]),
  };
}

function requestFor(settings: RunSettings, { seed, surveyed }: Draw): RunRequest {
  const options: SimulateOptions = { ...DEFAULTS, ...settings, seeds: 1, seed };
  const network = networkOf(options, process.cwd());
  const [request] = planRuns(options, surveyed, sizeOf(options, surveyed), network);
  return { ...request!, wantsJobTimes: true };
}

/** Classes are not asked for. */
function learn(name: string, past: readonly TrainingJob[]): Record<string, unknown> {
  return trainedOn([name], past, { ...SLEARN_SETTINGS, cutoffMs: Number.POSITIVE_INFINITY });
}

/** Those that know the truth, or say nothing, have nothing to learn. */
function doesLearn(name: string): boolean {
  const { kind } = estimatorKind(name);
  return !kind.needsTruth && kind.orders !== true;
}
