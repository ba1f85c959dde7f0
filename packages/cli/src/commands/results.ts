import { defineCommand, ExitCode } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { InputError } from '@goshawk/core';
import { checkTasksExist } from '../jobs/find-jobs.js';
import { resultLine } from '../jobs/show-results.js';
import { showTasks } from '../jobs/show-tasks.js';

export const resultsCommand = defineCommand({
  name: 'results',
  words: 'ID[/TASKS]',
  describe:
    'print the results of tasks so far, one JSON line per task: the return value of a module, otherwise the state with value, error or exit code',
  examples: [
    [
      'goshawk results $id --csv > results.csv',
      'write a table with a column per parameter and field of the values',
    ],
    ['goshawk results $id/7', 'print the result of one task'],
    ['goshawk wait $id --results', 'wait for the job first'],
  ],
  options: {
    csv: {
      type: 'flag',
      setting: false,
      describe: 'print the table of `tasks --csv`, for pandas or a spreadsheet',
    },
  },
  async run(context, { csv }, { words }) {
    const { json } = context.global;
    if (csv && json)
      throw new InputError('usage', 'results: --csv and --json cannot be used together', 'use one of them');
    const word = words[0]!;
    const address = word.named;
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const job = await word.job(context, cluster);
    const ranges = await job.selectTasks(address.tasks, { stage: address.stage, signal });
    const { state, tasks } = await job.describe({ signal });
    checkTasksExist(job.id, ranges, tasks.total);
    if (csv) {
      await showTasks(context, job, { from: 0, limit: Number.POSITIVE_INFINITY, ranges }, 'csv');
      return ExitCode.done;
    }
    const found = [];
    for (const { first, last } of ranges ?? [{ first: 0, last: Number.MAX_SAFE_INTEGER }]) {
      for (let from: number | undefined = first; from !== undefined && from <= last; ) {
        const page: Awaited<ReturnType<typeof job.resultsPage>> = await job.resultsPage({
          from,
          pages: 1,
          signal,
        });
        const wanted = page.results.filter(({ index }) => index <= last);
        if (json) found.push(...wanted);
        else for (const result of wanted) context.out(JSON.stringify(resultLine(result)));
        from = page.next;
      }
    }
    if (json)
      context.json({
        ...{ schema: 'goshawk.results/2', job: job.id, state, total: tasks.total },
        ...{ results: found, truncated: false, next: null },
      });
    return ExitCode.done;
  },
});
