import { InputError } from '@goshawk/core';
import { defineCommand, ExitCode } from '../command.js';
import { jobNamed } from '../jobs/named.js';
import { openCluster } from '../jobs/open-cluster.js';
import { showLogs } from '../jobs/show-logs.js';

export const logsCommand = defineCommand({
  name: 'logs',
  words: 'JOB[/TASK]',
  completes: 'ids',
  wordsMin: 1,
  wordsMax: 1,
  describe:
    'show what the tasks of a job have printed, task by task; stdout goes to stdout, and stderr to stderr',
  examples: [
    ['goshawk logs $id > all.txt', 'what all tasks printed, in the order of the tasks'],
    ['goshawk logs $id/17', 'one task'],
    ['goshawk logs $id --failed --tail 20', 'the last lines of each task that failed'],
    ['goshawk logs $id --follow', 'as it is printed, until the job has ended'],
  ],
  options: {
    follow: { type: 'flag', alias: 'f', flagOnly: true, describe: 'go on until the job has ended' },
    failed: {
      type: 'flag',
      flagOnly: true,
      describe:
        'only of tasks that failed; with --follow once the job has ended, since it is known only then',
    },
    tail: {
      type: 'count',
      alias: 'n',
      flagOnly: true,
      describe: 'only the last lines of each task, so many of them',
    },
    prefix: {
      type: 'text',
      default: 'auto',
      choices: ['auto', 'always', 'never'],
      describe:
        'the task in front of each line; auto: where a job has several, on a terminal and with --follow, so that a file gets what the tasks wrote',
    },
  },
  async run(context, options, { words }) {
    const { id: word, task } = parseTarget(words[0]!);
    const { failed, tail, prefix } = options;
    const follow = options.follow && !failed;
    await using cluster = await openCluster(context);
    const id = await jobNamed(context, cluster, word);
    const job = cluster.job(id);
    const signal = context.interrupted;
    const { total } = (await job.describe({ signal })).tasks;
    if (options.follow && failed) await job.wait({ signal });
    if (task !== undefined && task >= total) {
      throw new InputError('unknown-task', `${id} has no task ${task}`, `its tasks are 0 to ${total - 1}`);
    }
    const isMixed = task === undefined && total > 1;
    const isPrefixed =
      prefix === 'always' || (prefix === 'auto' && isMixed && (follow || context.stdout.isTTY === true));
    await showLogs(context, job, { task, failed, follow, tail, isPrefixed }, signal);
    return ExitCode.done;
  },
});

/** `a1-3` or `a1-3/17`. */
function parseTarget(text: string): { id: string; task: number | undefined } {
  const slash = text.indexOf('/');
  if (slash < 0) return { id: text, task: undefined };
  const task = text.slice(slash + 1);
  if (slash === 0 || !/^\d{1,9}$/.test(task)) {
    throw new InputError('usage', `logs: "${text}" is no JOB/TASK`, 'such as a1-3/17');
  }
  return { id: text.slice(0, slash), task: Number(task) };
}
