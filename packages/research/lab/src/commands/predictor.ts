import { defineCommand } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { scoresOf } from '@goshawk/predictor';

export const predictorCommand = defineCommand({
  name: 'predictor',
  describe: 'show the accuracy of shadow estimators (see --shadow of scheduler and up)',
  examples: [['goshawk predictor', 'show the accuracy on all schedulers since they started']],
  options: {},
  async run(context) {
    await using cluster = await openCluster(context);
    const { totals, silent } = await cluster.counters({
      of: ({ kind }) => kind === 'scheduler',
      signal: context.interrupted,
    });
    const scores = scoresOf(totals.schedulers.shadow);
    if (context.global.json) {
      context.json({ schema: 'goshawk.predictor/1', estimators: scores, silent });
      return;
    }
    if (silent.length > 0) context.note(`no answer from ${silent.join(', ')}`);
    if (scores.length === 0) {
      context.note(
        'no estimator runs in shadow, or no job was submitted yet; `goshawk up --shadow pilot,history,hybrid`',
      );
      return;
    }
    const { renderScores } = await import('@goshawk/report');
    context.out(renderScores('estimators in shadow', scores));
  },
});
