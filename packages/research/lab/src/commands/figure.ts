import { resolve } from 'node:path';
import { defineCommand } from '@goshawk/command';
import type { FigureResult } from '@goshawk/papers/figures';
import { FIGURE_OPTIONS } from '../figure/options.js';
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
    const { RunStore } = await import('../figure/figure-context.js');
    const folder = resolve(context.cwd, options.out);
    await checkOutFolder(
      folder,
      chosen.flatMap(({ figure }) => filesOf(figure.id)),
    );
    const store = new RunStore();
    const results: FigureResult[] = [];
    // Figures run one after another, so that each is finished as early as possible.
    for (const each of chosen) {
      const done = results.map(({ id }) => id).join(', ');
      const lost =
        done === ''
          ? 'nothing was written'
          : `${each.figure.id} was not written; ${done} ${results.length === 1 ? 'was' : 'were'}`;
      const result = await make({ context, store, chosen: each, options, lost });
      await write(context, result, folder);
      results.push(result);
      tell(context, result, options);
    }
    if (!context.global.json && results.length > 1) {
      const { addVerdicts, verdictLine } = await import('@goshawk/papers/figures');
      const verdicts = addVerdicts(results.map((result) => result.verdicts));
      context.out(`\n${results.length} figures: ${verdictLine(verdicts)}`);
    }
  },
});
