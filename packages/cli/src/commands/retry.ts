import { formatCount } from '@goshawk/core';
import { openCluster } from '../cluster.js';
import { defineCommand } from '../command.js';
import { jobNamed } from '../jobs/named.js';

export const retryCommand = defineCommand({
  name: 'retry',
  words: 'ID',
  completes: 'ids',
  describe: 'submit the failed tasks of an ended job as a new job, and print its id',
  examples: [['goshawk wait $(goshawk retry $id)', 'once more, and its outcome']],
  options: {
    failed: {
      type: 'flag',
      flagOnly: true,
      describe: 'the tasks that failed or were cancelled; they are what is run again in any case',
    },
  },
  async run(context, _options, { words }) {
    const signal = context.interrupted;
    await using cluster = await openCluster(context);
    const again = await cluster.job(await jobNamed(context, cluster, words[0]!)).retryFailed({ signal });
    // The job is there now: its id is said before anything else is asked, which may fail.
    if (context.global.json) {
      context.json({ schema: 'goshawk.submit/1', job: again.id, state: again.acceptedState });
    } else {
      context.out(again.id);
      const { tasks } = await again.describe({ signal });
      const them = tasks.total === 1 ? '1 task is' : `${formatCount(tasks.total)} tasks are`;
      context.note(`${them} run again; \`goshawk wait ${again.id}\` waits for the end`);
    }
  },
});
