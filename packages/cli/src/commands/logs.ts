import { type Context, defineCommand, type JobWord } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { InputError, tasksInRanges } from '@goshawk/core';
import { showDaemonLogs } from '../jobs/daemon-logs.js';
import { checkTasksExist } from '../jobs/find-jobs.js';
import { showLogs } from '../jobs/show-logs.js';

export const logsCommand = defineCommand({
  name: 'logs',
  words: '[ID[/TASKS]]',
  describe:
    'print the stdout and stderr of a job, task by task: what the last attempt of each task has printed; or with --daemons the logs of a local cluster’s processes',
  examples: [
    ['goshawk logs $id > all.txt', 'write the stdout of all tasks, in order'],
    ['goshawk logs $id/17', 'print the output of one task; $id/7-20,31 and $id/train print that of several'],
    ['goshawk logs $id --failed --tail 20', 'print the last lines of each failed task'],
    ['goshawk logs $id/3 --attempt 1', 'print the output of the first attempt of a retried task'],
    ['goshawk logs $id --follow', 'stream the output until the job ends'],
    ['goshawk logs --daemons $id', 'print what central, the scheduler and the workers logged about a job'],
    ['goshawk logs --daemons --event worker-lost,loss-diagnosed', 'print which workers were lost, and why'],
  ],
  options: {
    daemons: {
      type: 'flag',
      setting: false,
      describe:
        'print what the processes of a local cluster logged, in chronological order; with ID, about that job',
    },
    event: {
      type: 'text',
      with: 'daemons',
      value: 'KINDS',
      setting: false,
      rare: true,
      describe: 'with --daemons: only lines of these kinds, comma-separated',
    },
    folder: {
      type: 'text',
      with: 'daemons',
      value: 'FOLDER',
      setting: false,
      rare: true,
      describe: 'with --daemons: folder of the logs (default: that of the local cluster)',
    },
    follow: {
      type: 'flag',
      without: 'daemons',
      alias: 'f',
      setting: false,
      describe: 'continue until the job ends',
    },
    failed: {
      type: 'flag',
      without: 'daemons',
      setting: false,
      describe: 'only failed tasks; with --follow, wait for the job to end first',
    },
    attempt: {
      type: 'text',
      without: 'daemons',
      value: 'N',
      default: 'last',
      setting: false,
      describe:
        'only attempt N of each task, from 1 on; last; or all. With --follow, last also prints the attempts that start later',
    },
    tail: {
      type: 'count',
      without: 'daemons',
      alias: 'n',
      setting: false,
      describe:
        'only the last N lines of each task; also the last N lines of its stderr, even if they are earlier',
    },
    timestamps: {
      type: 'flag',
      without: 'daemons',
      setting: false,
      describe: 'print the time (UTC) at which each line arrived at its scheduler before it',
    },
    escapes: {
      type: 'flag',
      without: 'daemons',
      setting: false,
      describe: 'pass escape sequences (colors, cursor) on to the terminal; files and pipes always get them',
    },
    prefix: {
      type: 'text',
      without: 'daemons',
      setting: true,
      value: 'WHEN',
      default: 'auto',
      choices: ['auto', 'always', 'never'],
      describe:
        'prefix each line with its task id; auto: if the job has several tasks and stdout is a terminal or --follow is set',
    },
  },
  async run(context, options, { words }): Promise<undefined> {
    const { daemons, event, folder } = options;
    if (daemons) {
      const job = await daemonsJob(context, words[0]);
      await showDaemonLogs(context, { job, kinds: event?.split(','), folder });
      return;
    }
    if (words[0] === undefined) throw new InputError('usage', 'logs needs ID[/TASKS]', 'or --daemons');
    const [word] = words;
    const { tasks: named, stage } = word.named;
    const { failed, tail, prefix, timestamps, escapes } = options;
    const attempt = parseAttempt(options.attempt);
    const follow = options.follow && !failed;
    await using cluster = await openCluster(context);
    const job = await word.job(context, cluster);
    const signal = context.interrupted;
    const { total } = (await job.describe({ signal })).tasks;
    if (options.follow && failed) await job.wait({ signal });
    const tasks = await job.selectTasks(named, { stage, signal });
    checkTasksExist(job.id, tasks, total);
    const isMixed = tasks === undefined ? total > 1 : tasksInRanges(tasks) > 1;
    const isPrefixed =
      prefix === 'always' || (prefix === 'auto' && isMixed && (follow || context.stdout.isTTY === true));
    const shown = { tasks, failed, follow, attempt, tail, isPrefixed, timestamps, escapes };
    await showLogs(context, job, shown, signal);
  },
});

/** Returns the id of the job that log lines are about. A complete id needs no cluster. */
async function daemonsJob(context: Context, word: JobWord | undefined): Promise<string | undefined> {
  if (word === undefined || word.completeId !== undefined) return word?.completeId;
  await using cluster = await openCluster(context);
  return (await word.wholeJob(context, cluster)).id;
}

function parseAttempt(word: string): number | 'last' | 'all' {
  if (word === 'last' || word === 'all') return word;
  const attempt = Number(word);
  if (/^\d+$/.test(word) && attempt >= 1 && Number.isSafeInteger(attempt)) return attempt;
  throw new InputError('usage', `--attempt: expected last, all or a number from 1 on, got ${word}`);
}
