import { type Context, commandLine, VERSION } from '@goshawk/command';
import { counted, type Output } from '@goshawk/core';
import {
  assess,
  assessTrials,
  DEFAULT_POLICY,
  type FigureResult,
  type FigureWidth,
  renderFigureCsv,
  renderFigurePage,
  renderFigureSvg,
  renderFigureTex,
  renderFigureText,
  renderRunsCsv,
} from '@goshawk/papers/figures';
import { writeTogether } from '../output/files.js';
import type { FigureContext } from './figure-context.js';
import { runLive } from './live.js';
import { runModelled } from './modelled.js';
import { FIGURE_OPTIONS, type FigureOptions } from './options.js';
import { pdfOf } from './pdf.js';
import { runPlanned } from './planned.js';
import { runPredicted } from './predicted.js';
import { runSimulated } from './simulated.js';
import { runStaged } from './staged.js';

/** Runs a figure and judges its results. */
export async function make(making: FigureContext): Promise<FigureResult> {
  const { figure, axis } = making.chosen;
  const asked = {
    figure,
    axis,
    command: commandLine(
      'figure',
      [figure.workload.isGiven ? figure.paper.reference : figure.id],
      FIGURE_OPTIONS,
      shaping(making.options),
    ),
    generator: `goshawk ${VERSION}`,
  };
  switch (figure.mode) {
    case 'simulated':
      return assess({ ...asked, ...(await runSimulated(making)) });
    case 'live':
      return assess({ ...asked, ...(await runLive(making)) });
    case 'planned':
      return assessTrials('planned', { ...asked, ...(await runPlanned(making)) });
    case 'staged':
      return assessTrials('staged', { ...asked, ...(await runStaged(making)) });
    case 'predicted':
      return assessTrials('errors', { ...asked, ...(await runPredicted(making)), workers: null });
    case 'modelled': {
      const workers = figure.model?.servers ?? null;
      return assessTrials('queues', { ...asked, ...(await runModelled(making)), workers });
    }
  }
}

/** Returns the options that shape the figure, without speed and location. */
function shaping(options: FigureOptions): FigureOptions {
  return {
    ...options,
    parallel: undefined,
    on: undefined,
    out: FIGURE_OPTIONS.out.default,
    width: FIGURE_OPTIONS.width.default,
  };
}

export function filesOf(id: string): readonly string[] {
  return ['json', 'csv', 'runs.csv', 'svg', 'pdf', 'tex', 'html'].map((ending) => `${id}.${ending}`);
}

export async function write(
  context: Context,
  result: FigureResult,
  folder: string,
  width: FigureWidth,
): Promise<void> {
  const svg = renderFigureSvg(result, width);
  const contents = [
    `${JSON.stringify(result, null, 2)}\n`,
    renderFigureCsv(result),
    renderRunsCsv(result),
    svg,
    await pdfOf(svg),
    renderFigureTex(result, width),
    renderFigurePage(result),
  ];
  const texts = Object.fromEntries(filesOf(result.id).map((name, index) => [name, contents[index]!]));
  context.interrupted.throwIfAborted();
  await writeTogether(folder, texts);
}

/** Below this share of busy CPUs at the median of the busiest run, no task waits long. */
const LOADED_SHARE = 0.8;

/**
 * Reports that a figure's clusters were never busy enough for its claims, which are about loaded clusters.
 */
function unloadedLines({ id, mode, runs, workload }: FigureResult): string[] {
  // The claims are about the policies of the paper.
  const judged = runs.filter(({ variant }) => variant !== DEFAULT_POLICY);
  const busiest = Math.max(0, ...judged.map(({ run }) => run.utilisation.whileSubmitting.p50 ?? 0));
  if (mode !== 'simulated' || runs.length === 0 || busiest >= LOADED_SHARE) return [];
  const share = `${Number((busiest * 100).toPrecision(2))}%`;
  return [
    `${id}: ${counted(workload.jobs, 'job')} keep at most ${share} of the slots busy for half of the time, so tasks wait less than in ` +
      'a loaded cluster, and policies differ less; use more --jobs or fewer --workers',
  ];
}

export function tell(context: Context, result: FigureResult, { out }: FigureOptions): void {
  if (context.global.json) {
    // The results of a trial are any object.
    context.json({ ...result, trials: result.trials as Output<'goshawk.figure/1'>['trials'] });
    return;
  }
  context.out(`\n${renderFigureText(result, { color: context.color, columns: context.columns })}`);
  for (const line of unloadedLines(result)) context.out(`\n${line}`);
  context.note(`\n${filesOf(result.id).join(', ')} are in ${out}`);
}
