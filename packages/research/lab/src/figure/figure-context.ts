import { setImmediate } from 'node:timers/promises';
import { type Context, type Progress, startProgress, untilInterrupted } from '@goshawk/command';
import { counted } from '@goshawk/core';
import type { RunSettings, RunsAt, Tick, Trial, Variant } from '@goshawk/papers/figures';
import type { OptionValues, Workload } from '@goshawk/report';
import { configureGenerator, openWorkload, packed } from '@goshawk/traces';
import { survey } from '../simulate/survey.js';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import type { RunStore } from './run-store.js';

/** A figure in progress. */
export interface FigureContext {
  readonly context: Context;
  readonly store: RunStore;
  readonly chosen: ChosenFigure;
  readonly options: FigureOptions;
  /** Ending of the message about an interruption, which says what it leaves, such as `nothing was written`. */
  readonly lost: () => string;
}

/** The runs of a figure. */
export interface FigureRuns<Run> {
  readonly workload: Workload;
  readonly places: readonly RunsAt<Run>[];
}

export function settingsOf({ figure, workers }: ChosenFigure, tick: Tick, variant?: Variant): RunSettings {
  const size = workers === undefined ? {} : { workers };
  return { ...figure.settings, ...size, ...tick.settings, ...variant?.settings };
}

/** @param runsOf called once for each seed */
export function placesOf<Run>(
  { figure, axis }: ChosenFigure,
  runsOf: (tick: Tick, variant: Variant, place: number) => readonly Run[],
): RunsAt<Run>[] {
  return axis.ticks.map((tick, place) => ({
    tick,
    byVariant: Object.fromEntries(figure.variants.map((each) => [each.name, runsOf(tick, each, place)])),
  }));
}

/** Performs one step, unless the command has been interrupted. */
type Step = <T>(make: () => T | Promise<T>) => Promise<T>;

/**
 * Performs `total` steps and shows their progress from the first one on.
 *
 * @param what for example `['run', 'made']`: an interruption reports `2 of 8 runs were made`
 * @throws InterruptedError
 */
export function inSteps<T>(
  { context, chosen, lost }: FigureContext,
  total: number,
  [noun, done]: readonly [noun: string, done: string],
  work: (step: Step) => Promise<T>,
): Promise<T> {
  let steps = 0;
  let progress: Progress | undefined;
  const step: Step = async (make) => {
    progress ??= startProgress(context, chosen.figure.id, total);
    await setImmediate();
    context.interrupted.throwIfAborted();
    const made = await make();
    progress.update(++steps);
    return made;
  };
  const shown = () => work(step).finally(() => progress?.stop());
  return untilInterrupted(
    context,
    shown,
    () => `${steps} of ${counted(total, noun)} were ${done}; ${lost()}`,
  );
}

/** A run of a policy alone. */
export interface Tried<Run> {
  readonly results: Run;
  /** Generator with the options of its jobs. */
  readonly workload: string;
  /** Everything besides the jobs that determines the run. */
  readonly options: OptionValues;
}

/**
 * Performs all runs of a figure of independent policies sequentially: each policy at each place, per seed.
 *
 * @throws InterruptedError
 */
export async function runTrials<Run extends object>(
  making: FigureContext,
  run: (workload: string, settings: RunSettings, seed: number) => Promise<Tried<Run>>,
): Promise<FigureRuns<Run> & { readonly workers: number | null; readonly trials: readonly Trial[] }> {
  const { context, chosen, options, store } = making;
  const { figure, axis, workers, workload } = chosen;
  const total = axis.ticks.length * figure.variants.length * options.seeds;
  return inSteps(making, total, ['run', 'made'], async (step) => {
    const places: RunsAt<Run>[] = [];
    const trials: Trial[] = [];
    for (const tick of axis.ticks) {
      const byVariant: Record<string, Run[]> = {};
      for (const variant of figure.variants) {
        const settings = settingsOf(chosen, tick, variant);
        const runs: Run[] = [];
        for (let seed = 1; seed <= options.seeds; seed++) {
          const tried = await step(() => run(workload, settings, seed));
          const jobs = await store.once(['hash', tried.workload], () => hashed(tried.workload));
          const { x, label } = tick;
          runs.push(tried.results);
          trials.push({ ...tried, x, label, variant: variant.name, seed, workload: jobs });
        }
        byVariant[variant.name] = runs;
      }
      places.push({ tick, byVariant });
    }
    const jobs = packed(configureGenerator(workload).generate());
    const { record } = await survey(await openWorkload(workload), [jobs], context.interrupted);
    return { workload: record, places, trials, workers: workers ?? figure.settings.workers ?? null };
  });
}

async function hashed(spec: string): Promise<Trial['workload']> {
  const { name, sha256 } = await openWorkload(spec);
  return { name, sha256: await sha256() };
}
