import { counted } from '@goshawk/core';
import { openCluster } from '../cluster.js';
import { defineCommand } from '../command.js';
import { plain } from '../terminal/paint.js';

export const takeoverCommand = defineCommand({
  name: 'takeover',
  words: 'SCHEDULER',
  describe: 'let another scheduler take over the jobs of this one; a running one ends',
  examples: [['goshawk takeover s3', 'at once, rather than when its lease has ended']],
  options: {},
  async run(context, _options, { words }) {
    await using cluster = await openCluster(context);
    const answer = await cluster.takeOverFrom(words[0]!, { signal: context.interrupted });
    const jobs = counted(answer.jobs, 'job');
    context.show(
      { schema: 'goshawk.takeover/1', ...answer },
      () => `another scheduler goes on with ${jobs} of ${plain(answer.scheduler)}`,
    );
  },
});
