import { isFinal } from '@goshawk/core';
import { openCluster } from '../cluster.js';
import { defineCommand } from '../command.js';
import { throwAll } from '../failure.js';
import { jobNamed } from '../jobs/named.js';
import { painter, paintState } from '../terminal/paint.js';

export const cancelCommand = defineCommand({
  name: 'cancel',
  words: 'ID…',
  completes: 'ids',
  describe: 'cancel jobs: waiting tasks never start, running tasks are killed',
  examples: [['goshawk cancel $id', 'does nothing to a job that has ended']],
  options: {},
  async run(context, _options, { words }) {
    await using cluster = await openCluster(context);
    const paint = painter(context);
    const problems: unknown[] = [];
    for (const word of new Set(words)) {
      try {
        const id = await jobNamed(context, cluster, word);
        const { state } = await cluster.job(id).cancel({ signal: context.interrupted });
        context.show({ schema: 'goshawk.cancel/1', job: id, state }, () =>
          isFinal(state)
            ? `${id} ${paintState(state, paint)}`
            : `${id} is being cancelled: tasks that run are killed`,
        );
      } catch (error) {
        // The others are cancelled all the same.
        problems.push(error);
      }
    }
    throwAll(context, problems);
  },
});
