import { defineCommand } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { counted, formatCount } from '@goshawk/core';
import { awaitEnds } from '../jobs/await-ends.js';

export const retryCommand = defineCommand({
  name: 'retry',
  words: 'ID[/TASKS]',
  describe: 'run failed and cancelled tasks of an ended job again, as further attempts',
  examples: [
    ['goshawk retry $id', 'retry all failed and cancelled tasks'],
    ['goshawk retry $id/3,7-9', 'retry these tasks'],
    ['goshawk retry $id/train', 'retry the failed and cancelled tasks of a stage'],
    ['goshawk retry $id --wait', 'retry, and wait for the whole job to end'],
    ['goshawk retry $id --as-new', 'retry in a new job, in which the tasks keep their numbers'],
  ],
  options: {
    failed: {
      type: 'flag',
      setting: false,
      describe: 'skip cancelled tasks, unless a failed task kept their stage from running',
    },
    asNew: {
      type: 'flag',
      setting: false,
      describe: 'run them as a new job that keeps their indices; this job stays unchanged',
    },
    wait: {
      type: 'flag',
      setting: false,
      describe: 'wait for the job to end, and exit as `goshawk wait` does',
    },
  },
  async run(context, { failed, wait, asNew }, { words }) {
    const signal = context.interrupted;
    const word = words[0]!;
    const { tasks, stage } = word.named;
    await using cluster = await openCluster(context);
    const job = await word.job(context, cluster);
    const again = await job.retry({ tasks, stage, failed, asNew, signal });
    const { id, tasksAgain, tasksCompleted: completed } = again;
    if (context.global.json) {
      context.json({
        schema: 'goshawk.retry/1',
        job: id,
        state: again.acceptedState!,
        tasks: tasksAgain,
        completed,
      });
      return wait ? await awaitEnds(context, [again], { retried: !asNew }) : undefined;
    }
    context.out(id);
    const run = tasksAgain === 1 ? '1 task runs again' : `${formatCount(tasksAgain)} tasks run again`;
    const as = asNew ? ` as ${id}` : '';
    const skipped =
      completed === 0
        ? ''
        : `; ${counted(completed, 'chosen task')} had completed and ${completed === 1 ? 'does' : 'do'} not`;
    const hint = wait ? '' : `; \`goshawk wait ${id}\` waits for the job to end`;
    context.note(`${run}${as}${skipped}${hint}`);
    return wait ? await awaitEnds(context, [again], { retried: !asNew }) : undefined;
  },
});
