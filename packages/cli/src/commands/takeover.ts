import { counted, InputError } from '@goshawk/core';
import { openCluster } from '../cluster.js';
import { defineCommand } from '../command.js';
import { plain } from '../terminal/paint.js';

export const takeoverCommand = defineCommand({
  name: 'takeover',
  words: '[SCHEDULER]',
  describe: 'let another scheduler take over the jobs of this one; a running one ends',
  examples: [
    ['goshawk takeover s3', 'at once, rather than when its lease has ended'],
    [
      'goshawk takeover --all',
      'from all that are away and whose journals are in PostgreSQL, after a restore say',
    ],
  ],
  options: {
    all: { type: 'flag', flagOnly: true, describe: 'from every scheduler that is away or missing' },
  },
  async run(context, { all }, { words }) {
    if (all === words.length > 0)
      throw new InputError(
        'usage',
        'takeover: give either a scheduler or --all',
        '`goshawk journal owners` lists them',
      );
    await using cluster = await openCluster(context);
    const answer = await cluster.takeOverFrom(words[0] ?? '*', { signal: context.interrupted });
    const jobs = counted(answer.jobs, 'job');
    const { schedulers = 1 } = answer;
    context.show({ schema: 'goshawk.takeover/1', ...answer }, () => {
      if (!all) return `another scheduler goes on with ${jobs} of ${plain(answer.scheduler)}`;
      if (schedulers === 0) return 'no scheduler is away whose journal another one can read';
      return `others go on with the jobs of ${counted(schedulers, 'scheduler')}`;
    });
  },
});
