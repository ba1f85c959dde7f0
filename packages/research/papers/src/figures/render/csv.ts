import { csvOf } from '@goshawk/report';
import type { FigureResult } from '../result.js';

/**
 * Formats the numbers of a figure as tidy CSV: one row per panel, series, point of the axis and seed. Percentiles and courses
 * have their index as `x`.
 */
export function renderFigureCsv({ id, axis, panels, seeds }: FigureResult): string {
  const rows = panels.flatMap(({ title: panel, series, percentiles = {}, courses = {} }) => [
    ...series.flatMap(({ name, unit, values, bySeed = [values], paper = [], isAddition = false }) =>
      bySeed.flatMap((ofSeed, index) =>
        ofSeed.map((value, at) => ({
          figure: id,
          panel,
          series: name,
          axis: axis.name,
          x: axis.places[at]!.x,
          label: axis.places[at]!.label,
          seed: seeds[index] ?? null,
          unit,
          value,
          paper: paper[at] ?? null,
          isAddition,
        })),
      ),
    ),
    ...[percentiles, courses].flatMap((curves) =>
      Object.entries(curves).flatMap(([name, values]) =>
        values.map((value, x) => ({ figure: id, panel, series: name, axis: axis.name, x, value })),
      ),
    ),
  ]);
  return `${csvOf(rows)}\n`;
}

/** Formats every run as tidy CSV: one row per run, with its workload, seed, options and results. */
export function renderRunsCsv({ id, workload, runs, trials }: FigureResult): string {
  const { name, sha256 } = workload;
  const placed = runs.map(({ x, variant, run: { seed, options, ...results } }) => {
    return { figure: id, x, variant, seed, workload: { name, sha256 }, options, results };
  });
  return `${csvOf([...placed, ...trials.map((trial) => ({ figure: id, ...trial }))])}\n`;
}
