import { formatCount, InputError } from '@goshawk/core';
import { defineCommand, ExitCode } from '../command.js';
import { openCluster } from '../jobs/open-cluster.js';

export const retryCommand = defineCommand({
  name: 'retry',
  words: 'ID',
  wordsMin: 1,
  wordsMax: 1,
  describe: 'submit what failed in a job that has ended as a new job, and print its id',
  examples: [['goshawk wait $(goshawk retry $id --failed)', 'once more, and its outcome']],
  options: {
    failed: { type: 'flag', flagOnly: true, describe: 'the tasks that failed or were cancelled' },
  },
  async run(context, options, { words }) {
    if (!options.failed) {
      throw new InputError(
        'usage',
        'retry: say which tasks',
        'give --failed for those that did not complete',
      );
    }
    const signal = context.interrupted;
    await using cluster = await openCluster(context);
    const again = await cluster.job(words[0]!).retryFailed({ signal });
    const { state, tasks } = await again.describe({ signal });
    if (context.global.json) {
      context.json({ schema: 'goshawk.submit/1', job: again.id, state });
    } else {
      context.out(again.id);
      const them = tasks.total === 1 ? '1 task is' : `${formatCount(tasks.total)} tasks are`;
      context.note(`${them} run again; \`goshawk wait ${again.id}\` waits for the end`);
    }
    return ExitCode.done;
  },
});
