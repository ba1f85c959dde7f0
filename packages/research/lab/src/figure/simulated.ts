import { optionsGiven, untilInterrupted } from '@goshawk/command';
import { counted, Random } from '@goshawk/core';
import type { FinishedRun, RunSettings } from '@goshawk/papers/figures';
import { estimatorKind, SLEARN_SETTINGS } from '@goshawk/predictor';
import type { Workload } from '@goshawk/report';
import { packed, type TraceJob } from '@goshawk/traces';
import { trainedOn } from '../predict/past.js';
import { networkOf } from '../simulate/network.js';
import { SIMULATE_OPTIONS, type SimulateOptions } from '../simulate/options.js';
import { planRuns, sizeOf, withClusterOf } from '../simulate/plan.js';
import type { RunOutcome, RunRequest } from '../simulate/request.js';
import { performWithProgress, sourceOf, surveyWithProgress } from '../simulate/shown.js';
import { type Survey, survey } from '../simulate/survey.js';
import { drawJobs, readExtracted } from './extract.js';
import { type FigureContext, type FigureRuns, placesOf, settingsOf } from './figure-context.js';

/** Defaults of `goshawk simulate`, regardless of environment and files. */
const DEFAULTS: SimulateOptions = optionsGiven(SIMULATE_OPTIONS);

/** Jobs that some of the seeds run. */
interface Part {
  /** Identifies these jobs among the parts of all figures. */
  readonly name: string;
  /** Path or generator, for jobs that must be read again. */
  readonly workload: string;
  readonly surveyed: Survey;
  readonly seeds: readonly [first: number, count: number];
  /** Label of the progress display. */
  readonly label: string;
}

interface Parts {
  /** Workload named in the figure. */
  readonly record: Workload;
  readonly parts: readonly Part[];
  /** Initial states of estimators; by default those of `simulate`. */
  readonly statesOf?: (estimator: string) => Readonly<Record<string, unknown>>;
}

/**
 * Performs all runs of a simulated figure, except those that another figure has made already.
 *
 * @throws WorkloadError; InterruptedError; InputError if the requested cluster is impossible
 */
export async function runSimulated(making: FigureContext): Promise<FigureRuns<FinishedRun>> {
  const { context, store, chosen, options, lost } = making;
  const { figure, axis } = chosen;
  const { record, parts, statesOf } = await (figure.workload.draw === undefined
    ? wholeWorkload(making)
    : drawnParts(making));
  const runsOf = new Map<Part, FinishedRun[]>();
  for (const part of parts) {
    const { name, workload, surveyed, seeds, label } = part;
    const all = axis.ticks.flatMap((tick) =>
      figure.variants.flatMap((each) =>
        requestsFor(
          settingsOf(chosen, tick, each),
          surveyed,
          seeds,
          figure.workload.isGiven ? workload : undefined,
        ),
      ),
    );
    const runs = await store.runs(name, all, async (missing, made) => {
      if (statesOf === undefined)
        context.note(`${label}: ${counted(missing.length, 'run')} of ${inWords(record)}`);
      const requests =
        statesOf === undefined
          ? missing
          : missing.map((request) => ({ ...request, estimatorStates: statesOf(request.estimator) }));
      const { parallel, on } = options;
      const onDone = (index: number, outcome: RunOutcome) => made(index, finished(outcome));
      const shown = { parallel, on, label, lost, onDone };
      await performWithProgress(context, requests, sourceOf(workload, surveyed), shown);
    });
    runsOf.set(part, runs);
  }
  // The runs are in the order of the requests.
  const places = placesOf(chosen, () => parts.flatMap((part) => runsOf.get(part)!.splice(0, part.seeds[1])));
  return { workload: record, places };
}

function inWords({ name, jobs, tasks }: Workload): string {
  return `${name}, ${counted(jobs, 'job')} with ${counted(tasks, 'task')}`;
}

async function wholeWorkload({ context, store, chosen, options }: FigureContext): Promise<Parts> {
  const { figure, workload } = chosen;
  const surveyed = await store.once(['survey', workload], () => surveyWithProgress(context, workload));
  const complete: Part = { name: workload, workload, surveyed, seeds: [1, options.seeds], label: figure.id };
  return { record: surveyed.record, parts: [complete] };
}

/** Draws jobs for each seed. Estimators begin with the state that they learned from earlier jobs. */
async function drawnParts({ context, store, chosen, options, lost }: FigureContext): Promise<Parts> {
  const { figure, axis, workload } = chosen;
  const { seeds, features, history } = options;
  const { jobs, tasksMax } = figure.workload.draw!;
  const from = { workload, features, history, tasksMax };
  const extracted = await untilInterrupted(
    context,
    () => store.once(['extract', from], () => readExtracted(context, from)),
    () => `the workload was still being read; ${lost()}`,
  );
  const partOf = async (seed: number): Promise<Part> => {
    const key = ['draw', from, jobs, seed];
    const surveyed = await store.once(key, () => surveyDraw(extracted.jobs, jobs, seed));
    const label = `${figure.id}, draw ${seed} of ${seeds}`;
    return { name: JSON.stringify(key), workload, surveyed, seeds: [seed, 1], label };
  };
  const parts = await Promise.all(Array.from({ length: seeds }, (_, index) => partOf(index + 1)));
  const estimators = axis.ticks.flatMap((tick) =>
    figure.variants.map((variant) => settingsOf(chosen, tick, variant).estimator ?? DEFAULTS.estimator),
  );
  const states = new Map<string, Record<string, unknown>>();
  for (const name of new Set(estimators.filter(doesLearn))) {
    // The figure has no job classes.
    const settings = { ...SLEARN_SETTINGS, cutoffMs: Number.POSITIVE_INFINITY };
    const learn = async () => trainedOn([name], extracted.past, settings);
    states.set(name, await store.once(['learnt', from, name], learn));
  }
  context.note(
    `${figure.id}: ${counted(seeds, 'draw')} of ${counted(jobs, 'job')} from ${counted(extracted.jobs.length, 'job')}, ` +
      `${counted(extracted.past.length, 'job')} to learn from`,
  );
  return { record: extracted.record, parts, statesOf: (estimator) => states.get(estimator) ?? {} };
}

function surveyDraw(from: readonly TraceJob[], wanted: number, seed: number): Promise<Survey> {
  const jobs = drawJobs(from, wanted, Random.seeded(seed).fork('draw'));
  const name = `draw ${seed}`;
  return survey({ name, tallied: [], sha256: async () => name }, [packed(jobs)]);
}

/** Estimators that know the truth or give no estimate do not learn. */
function doesLearn(name: string): boolean {
  const { kind } = estimatorKind(name);
  return !kind.needsTruth && kind.orders !== true;
}

/**
 * Returns one request per seed.
 *
 * @param clusterOf the workload whose generator chooses the cluster, unless the settings do
 */
export function requestsFor(
  settings: RunSettings,
  surveyed: Survey,
  [seed, seeds]: Part['seeds'],
  clusterOf?: string,
): RunRequest[] {
  const given: SimulateOptions = { ...DEFAULTS, ...settings, seeds, seed };
  const options = clusterOf === undefined ? given : withClusterOf(clusterOf, given);
  const requests = planRuns(options, surveyed, sizeOf(options, surveyed), networkOf(options, process.cwd()));
  return requests.map((request) => ({ ...request, needsJobDetails: true }));
}

export function finished({ run, series, jobTimes }: RunOutcome): FinishedRun {
  return { run, series, jobs: jobTimes };
}
