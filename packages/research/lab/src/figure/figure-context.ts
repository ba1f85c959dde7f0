import { setImmediate } from 'node:timers/promises';
import { type Context, type Progress, startProgress, untilInterrupted } from '@goshawk/command';
import { counted } from '@goshawk/core';
import type { FinishedRun, RunSettings, RunsAt, Tick, Variant } from '@goshawk/papers/figures';
import type { Workload } from '@goshawk/report';
import { configureGenerator, openWorkload, packed } from '@goshawk/traces';
import type { RunRequest } from '../simulate/request.js';
import { survey } from '../simulate/survey.js';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';

/** Stores finished runs that figures share, such as Hawk's at each cluster size. */
export class RunStore {
  readonly #made = new Map<string, unknown>();

  /** Makes a value once per key of these parts. */
  async once<T>(parts: readonly unknown[], make: () => Promise<T>): Promise<T> {
    const key = JSON.stringify(parts);
    if (!this.#made.has(key)) this.#made.set(key, await make());
    return this.#made.get(key) as T;
  }

  /**
   * Returns a run of a workload for each request. A request is plain data that determines its run.
   *
   * @param make makes all missing runs in one call
   */
  async runs(
    workload: string,
    requests: readonly RunRequest[],
    make: (missing: readonly RunRequest[]) => Promise<readonly FinishedRun[]>,
  ): Promise<FinishedRun[]> {
    const keys = requests.map((request) => JSON.stringify([workload, request]));
    const missing = new Map(keys.map((key, index) => [key, requests[index]!]));
    for (const key of missing.keys()) if (this.#made.has(key)) missing.delete(key);
    const made = missing.size === 0 ? [] : await make([...missing.values()]);
    for (const [index, key] of [...missing.keys()].entries()) this.#made.set(key, made[index]);
    return keys.map((key) => this.#made.get(key) as FinishedRun);
  }
}

/** A figure in progress. */
export interface FigureContext {
  readonly context: Context;
  readonly store: RunStore;
  readonly chosen: ChosenFigure;
  readonly options: FigureOptions;
  /** Ending of the message about an interruption, which says what it cost, such as `nothing was written`. */
  readonly lost: string;
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
  return untilInterrupted(context, shown, () => `${steps} of ${counted(total, noun)} were ${done}; ${lost}`);
}

/**
 * Performs all runs of a figure of independent policies sequentially: each policy at each place, per seed.
 *
 * @throws InterruptedError
 */
export async function runTrials<Run>(
  making: FigureContext,
  run: (workload: string, settings: RunSettings, seed: number) => Promise<Run>,
): Promise<FigureRuns<Run> & { readonly workers: number | null }> {
  const { context, chosen, options } = making;
  const { figure, axis, workers, workload } = chosen;
  const total = axis.ticks.length * figure.variants.length * options.seeds;
  return inSteps(making, total, ['run', 'made'], async (step) => {
    const places: RunsAt<Run>[] = [];
    for (const tick of axis.ticks) {
      const byVariant: Record<string, Run[]> = {};
      for (const variant of figure.variants) {
        const settings = settingsOf(chosen, tick, variant);
        const runs: Run[] = [];
        for (let seed = 1; seed <= options.seeds; seed++)
          runs.push(await step(() => run(workload, settings, seed)));
        byVariant[variant.name] = runs;
      }
      places.push({ tick, byVariant });
    }
    const jobs = packed(configureGenerator(workload).generate());
    const { record } = await survey(await openWorkload(workload), [jobs], context.interrupted);
    return { workload: record, places, workers: workers ?? figure.settings.workers ?? null };
  });
}
