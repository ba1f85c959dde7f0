import { resolve } from 'node:path';
import { type Context, commandLine, defineCommand, ExitCode, VERSION } from '@goshawk/cli';
import { counted } from '@goshawk/core';
import type { FigureResult } from '@goshawk/figures';
import type { ChosenFigure } from '../figure/choose.js';
import { checkOutFolder, writeTogether } from '../figure/files.js';
import { FIGURE_OPTIONS, type FigureOptions } from '../figure/options.js';
import { RunStore } from '../figure/run-store.js';
import type { FigureRuns } from '../figure/simulated.js';

export const figureCommand = defineCommand({
  name: 'figure',
  words: '[ID…]',
  completes: 'figures',
  wordsMax: Number.POSITIVE_INFINITY,
  describe:
    'reproduce a figure of a paper: run it, compare with the numbers of the paper, check its claims, draw it',
  examples: [
    ['goshawk figure --list', 'list the figures'],
    ['goshawk figure hawk-5', 'Hawk against Sparrow by size of the cluster, on 50,000 generated jobs'],
    ['goshawk figure hawk-5 --jobs 506460 --seeds 10', 'as long as the paper’s trace, ten times'],
    ['goshawk figure hawk-8 hawk-9 --trace trace.tr --out drawn', 'on a trace, two at a time'],
  ],
  options: FIGURE_OPTIONS,
  async run(context, options, { words }) {
    // With the charts' library, which takes a while to load.
    const { chooseFigures } = await import('../figure/choose.js');
    if (options.list) {
      const { listFigures } = await import('../figure/list.js');
      listFigures(context);
      return ExitCode.done;
    }
    const chosen = chooseFigures(words, options);
    const folder = resolve(context.cwd, options.out);
    await checkOutFolder(
      folder,
      chosen.flatMap(({ figure }) => filesOf(figure.id)),
    );
    const results = await makeAll(context, chosen, options, folder);
    if (!context.global.json && results.length > 1) {
      const { addVerdicts, verdictLine } = await import('@goshawk/figures');
      const verdicts = addVerdicts(results.map((result) => result.verdicts));
      context.out(`\n${results.length} figures: ${verdictLine(verdicts)}`);
    }
    return ExitCode.done;
  },
});

function filesOf(id: string): [json: string, svg: string, page: string] {
  return [`${id}.json`, `${id}.svg`, `${id}.html`];
}

/** One after another, so that each is there as soon as it can be. */
async function makeAll(
  context: Context,
  chosen: readonly ChosenFigure[],
  options: FigureOptions,
  folder: string,
): Promise<FigureResult[]> {
  const store = new RunStore();
  const results: FigureResult[] = [];
  for (const each of chosen) {
    const done = results.map(({ id }) => id).join(', ');
    const lost = done === '' ? 'nothing was written' : `${each.figure.id} was not written; ${done} had been`;
    const result = await make(context, store, each, options, lost);
    await write(context, result, folder);
    results.push(result);
    await tell(context, result, options);
  }
  return results;
}

async function make(
  context: Context,
  store: RunStore,
  chosen: ChosenFigure,
  options: FigureOptions,
  lost: string,
): Promise<FigureResult> {
  const { assess, assessModelled, assessPlanned, assessPredictions, assessStaged } = await import(
    '@goshawk/figures'
  );
  const { figure, axis } = chosen;
  const made = {
    figure,
    axis,
    command: commandLine('figure', [figure.id], FIGURE_OPTIONS, shaping(options)),
    generator: `goshawk ${VERSION}`,
  };
  if (figure.mode === 'predicted') {
    const { runPredicted } = await import('../figure/predicted.js');
    return assessPredictions({ ...made, ...(await runPredicted(context, store, chosen, options, lost)) });
  }
  if (figure.mode === 'planned') {
    const { runPlanned } = await import('../figure/planned.js');
    return assessPlanned({ ...made, ...(await runPlanned(context, store, chosen, options, lost)) });
  }
  if (figure.mode === 'modelled') {
    const { runModelled } = await import('../figure/modelled.js');
    return assessModelled({ ...made, ...(await runModelled(context, chosen, options, lost)) });
  }
  if (figure.mode === 'staged') {
    const { runStaged } = await import('../figure/staged.js');
    return assessStaged({ ...made, ...(await runStaged(context, store, chosen, options, lost)) });
  }
  const { workload, runs } = await runAll(context, store, chosen, options, lost);
  return assess({ ...made, workload, runs });
}

async function runAll(
  context: Context,
  store: RunStore,
  chosen: ChosenFigure,
  options: FigureOptions,
  lost: string,
): Promise<FigureRuns> {
  const { mode, workload } = chosen.figure;
  if (mode === 'live') return (await import('../figure/live.js')).runLive(context, store, chosen, options);
  if (workload.draw !== undefined) {
    return (await import('../figure/drawn.js')).runDrawn(context, store, chosen, options, lost);
  }
  return (await import('../figure/simulated.js')).runSimulated(context, store, chosen, options, lost);
}

/** What shapes the figure; not how fast it is made, and where it is put. */
function shaping(options: FigureOptions): FigureOptions {
  return { ...options, parallel: undefined, on: undefined, out: FIGURE_OPTIONS.out.default };
}

async function write(context: Context, result: FigureResult, folder: string): Promise<void> {
  const { renderFigurePage, renderFigureSvg } = await import('@goshawk/figures');
  const [json, svg, page] = filesOf(result.id);
  const texts = {
    [json]: `${JSON.stringify(result, null, 2)}\n`,
    [svg]: renderFigureSvg(result),
    [page]: renderFigurePage(result),
  };
  context.interrupted.throwIfAborted();
  await writeTogether(folder, texts);
}

/** Below this share of busy slots at the busiest moment nothing waits for long. */
const LOADED_SHARE = 0.9;

/** Says that a figure’s clusters never had enough to do, if they had not: its claims are about clusters that have. */
function unloadedLines({ id, mode, runs, workload }: FigureResult): string[] {
  const busiest = Math.max(0, ...runs.map(({ run }) => run.utilisation.whileSubmitting.max ?? 0));
  if (mode !== 'simulated' || runs.length === 0 || busiest >= LOADED_SHARE) return [];
  const share = `${Number((busiest * 100).toPrecision(2))}%`;
  return [
    `${id}: ${counted(workload.jobs, 'job')} keep ${share} of the slots busy at most: nothing waits for long, and what is ` +
      'claimed of a loaded cluster cannot come out; give more --jobs, or fewer --workers',
  ];
}

async function tell(context: Context, result: FigureResult, { out }: FigureOptions): Promise<void> {
  if (context.global.json) {
    context.json(result);
    return;
  }
  const { renderFigureText } = await import('@goshawk/figures');
  context.out(`\n${renderFigureText(result, { color: context.color, columns: context.columns })}`);
  for (const line of unloadedLines(result)) context.out(`\n${line}`);
  context.note(`\n${filesOf(result.id).join(', ')} are in ${out}`);
}
