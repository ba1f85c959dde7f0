import { defineCommand, ExitCode } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { InputError, JOB_STATES } from '@goshawk/core';
import { checkTasksExist } from '../jobs/find-jobs.js';
import { showTasks } from '../jobs/show-tasks.js';
import { statesIn } from '../jobs/states.js';

export const tasksCommand = defineCommand({
  name: 'tasks',
  words: 'ID[/TASKS]',
  describe: 'list the tasks of a job, one row each: state, last attempt, worker, exit code, times and error',
  examples: [
    ['goshawk tasks $id --state failed', 'list the failed tasks with their errors'],
    ['goshawk tasks $id/train', 'list the tasks of a stage; $id/7-20,31 lists these'],
    ['goshawk tasks $id --csv > tasks.csv', 'write all tasks to a spreadsheet'],
  ],
  options: {
    state: {
      type: 'text',
      value: 'STATES',
      setting: false,
      suggests: JOB_STATES,
      describe: `only tasks in these states: ${JOB_STATES.join(', ')}, comma-separated`,
    },
    stage: { type: 'text', value: 'NAME', setting: false, describe: 'only tasks of this stage' },
    csv: { type: 'flag', setting: false, describe: 'print CSV with a header' },
    limit: {
      type: 'count',
      setting: false,
      min: 1,
      describe: 'maximum number of tasks to list (default: all)',
    },
    from: {
      type: 'count',
      setting: false,
      default: 0,
      describe: 'first task index, to continue a list that --limit truncated',
    },
  },
  async run(context, options, { words }) {
    const { stage, from, limit = Number.POSITIVE_INFINITY, csv } = options;
    if (csv && context.global.json)
      throw new InputError('usage', 'tasks: --csv and --json cannot be used together', 'use one of them');
    const word = words[0]!;
    const address = word.named;
    if (stage !== undefined && address.stage !== undefined)
      throw new InputError('usage', 'tasks: --stage and ID/STAGE cannot be used together', 'use one of them');
    const states = options.state === undefined ? [] : statesIn(options.state);
    await using cluster = await openCluster(context);
    const job = await word.job(context, cluster);
    const signal = context.interrupted;
    const ranges = await job.selectTasks(address.tasks, { stage: address.stage, signal });
    if (address.tasks !== undefined)
      checkTasksExist(job.id, ranges, (await job.describe({ signal })).tasks.total);
    const format = context.global.json ? 'json' : csv ? 'csv' : 'text';
    await showTasks(context, job, { states, stage, from, limit, ranges }, format);
    return ExitCode.done;
  },
});
