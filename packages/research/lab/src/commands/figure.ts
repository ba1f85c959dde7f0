import { resolve } from 'node:path';
import { defineCommand, isCustom } from '@goshawk/command';
import { counted } from '@goshawk/core';
import type { FigureResult, FigureWidth } from '@goshawk/papers/figures';
import type { ChosenFigure } from '../figure/choose.js';
import { FIGURE_OPTIONS, type FigureOptions } from '../figure/options.js';
import { checkOutFolder } from '../output/files.js';

export const figureCommand = defineCommand({
  name: 'figure',
  words: '[FIGURE|FILE…]',
  completes: 'figures',
  describe:
    'reproduce a figure of a paper: run the experiment, draw the figure, and compare the results with the paper’s numbers and claims',
  examples: [
    ['goshawk figure --list', 'list the figures'],
    ['goshawk figure hawk-5', 'compare Hawk with Sparrow by cluster size, on 50,000 generated jobs'],
    [
      'goshawk figure hawk-5 --jobs 506460 --seeds 10',
      'simulate as many jobs as the paper’s trace has, with ten seeds',
    ],
    ['goshawk figure hawk-8 hawk-9 --trace trace.tr --out drawn', 'reproduce two figures on a trace'],
    ['goshawk figure examples/figure.json --seeds 3', 'make a figure of your own'],
  ],
  needsNoCluster: true,
  options: FIGURE_OPTIONS,
  async run(context, options, { words }) {
    const { chooseFigures } = await import('../figure/choose.js');
    if (options.list) {
      const { listFigures } = await import('../figure/list.js');
      listFigures(context);
      return;
    }
    (await import('@goshawk/papers')).addPapers();
    const chosen = await chooseFigures(words, options, context.cwd);
    const { filesOf, make, tell, write } = await import('../figure/make.js');
    const { RunStore, stampOf } = await import('../figure/run-store.js');
    const folder = resolve(context.cwd, options.out);
    await checkOutFolder(
      folder,
      chosen.flatMap(({ figure }) => filesOf(figure.id)),
    );
    const store = new RunStore(folder, await stampOf(filesRead(chosen, words, options, context.cwd)));
    const results: FigureResult[] = [];
    // Figures run one after another, so that each is finished as early as possible.
    for (const each of chosen) {
      const done = results.map(({ id }) => id).join(', ');
      const written =
        done === ''
          ? ''
          : `${each.figure.id} was not written; ${done} ${results.length === 1 ? 'was' : 'were'}; `;
      const lost = () => `${written}${store.left()}`;
      const result = await make({ context, store, chosen: each, options, lost });
      const resumed = store.takeResumed();
      if (resumed > 0)
        context.note(
          `${result.id}: ${counted(resumed, 'run')} of an interrupted command ${resumed === 1 ? 'was' : 'were'} used`,
        );
      await write(context, result, folder, options.width as FigureWidth);
      results.push(result);
      tell(context, result, options);
    }
    await store.clear();
    if (!context.global.json && results.length > 1) {
      const { addVerdicts, verdictLine } = await import('@goshawk/papers/figures');
      const verdicts = addVerdicts(results.map((result) => result.verdicts));
      context.out(`\n${results.length} figures: ${verdictLine(verdicts)}`);
    }
  },
});

/** Returns the files that may determine the results: traces, custom figures, and their policies. */
function filesRead(
  chosen: readonly ChosenFigure[],
  words: readonly string[],
  { trace, features, history }: FigureOptions,
  cwd: string,
): string[] {
  const policies = chosen.flatMap(({ figure }) =>
    figure.variants.flatMap(({ settings }) => settings.policy?.split(':')[0] ?? []),
  );
  const names = [
    trace,
    features,
    history,
    ...chosen.map(({ workload }) => workload),
    ...words,
    ...policies.filter(isCustom),
  ];
  return names.flatMap((name) => (name === undefined ? [] : [resolve(cwd, name)]));
}
