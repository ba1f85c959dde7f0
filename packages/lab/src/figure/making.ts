import type { Context } from '@goshawk/cli';
import type { RunSettings, RunsAt, Tick, Variant } from '@goshawk/figures';
import type { Workload } from '@goshawk/report';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import type { RunStore } from './run-store.js';

/** A figure that is being made. */
export interface Making {
  readonly context: Context;
  readonly store: RunStore;
  readonly chosen: ChosenFigure;
  readonly options: FigureOptions;
  /** What comes of the figures when they are cut short. */
  readonly lost: string;
}

/** What was run for a figure. */
export interface FigureRuns<Run> {
  readonly workload: Workload;
  readonly places: readonly RunsAt<Run>[];
}

export function settingsOf({ figure, workers }: ChosenFigure, tick: Tick, variant?: Variant): RunSettings {
  const size = workers === undefined ? {} : { workers };
  return { ...figure.settings, ...size, ...tick.settings, ...variant?.settings };
}

/** @param runsOf once for each seed */
export function placesOf<Run>(
  { figure, axis }: ChosenFigure,
  runsOf: (tick: Tick, variant: Variant, place: number) => readonly Run[],
): RunsAt<Run>[] {
  return axis.ticks.map((tick, place) => ({
    tick,
    byVariant: Object.fromEntries(figure.variants.map((each) => [each.name, runsOf(tick, each, place)])),
  }));
}
