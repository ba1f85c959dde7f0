import type { Cluster } from '@goshawk/client';
import {
  type Context,
  defineCommand,
  ExitCode,
  type JobWord,
  painter,
  paintState,
  throwAll,
} from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { counted, formatCount, InputError, isFinal, type Output } from '@goshawk/core';
import { outcomesOf } from '../jobs/outcomes.js';
import { statesIn } from '../jobs/states.js';

export const cancelCommand = defineCommand({
  name: 'cancel',
  words: '[ID…]',
  describe:
    'cancel jobs, or tasks of a job (ID/TASKS): waiting tasks never start and running tasks are killed',
  examples: [
    ['goshawk cancel $id', 'cancel a job; this has no effect if the job has ended'],
    ['goshawk cancel $id/7-20,31', 'cancel these tasks, numbered as in `goshawk tasks`; the others continue'],
    [
      'goshawk cancel $id/train',
      'cancel the tasks of a stage; $id/train/7-20 is an error if these tasks belong to another stage',
    ],
    ["goshawk cancel --user $USER --name 'etl-*'", 'cancel all jobs that match both'],
  ],
  options: {
    user: { type: 'text', value: 'NAME', setting: false, describe: 'jobs of this user' },
    name: {
      type: 'text',
      value: 'GLOB',
      setting: false,
      describe: 'jobs whose name matches this pattern, with * and ?',
    },
    state: {
      type: 'text',
      value: 'STATES',
      setting: false,
      suggests: ['waiting', 'running'],
      describe: 'jobs in these states: waiting, running, comma-separated',
    },
    all: { type: 'flag', setting: false, describe: 'all jobs that have not ended' },
    yes: { type: 'flag', alias: 'y', setting: false, describe: 'skip the confirmation prompt' },
  },
  async run(context, options, { words }) {
    const { user, name, state, all, yes } = options;
    const isBulk = user !== undefined || name !== undefined || state !== undefined || all;
    if (isBulk && words.length > 0)
      throw new InputError('usage', 'cancel: ids and filters cannot be used together', 'use one of them');
    if (!isBulk && words.length === 0)
      throw new InputError('usage', 'cancel needs ID…', 'or --user, --name, --state or --all');
    const states = state === undefined ? [] : statesIn(state);
    await using cluster = await openCluster(context);
    if (isBulk) return await cancelMany(context, cluster, { user, name, states, all }, yes);
    const problems: unknown[] = [];
    const cancelled = (word: JobWord): Promise<Shown> => cancelOne(context, cluster, word);
    for await (const outcome of outcomesOf(new Set(words), cancelled)) {
      // The other jobs are still cancelled.
      if (outcome.status === 'rejected') problems.push(outcome.reason);
      else context.show(...outcome.value);
    }
    throwAll(context, problems);
    return ExitCode.done;
  },
});

/** Arguments of `Context.show`. */
type Shown = readonly [value: Output, words: () => string];

async function cancelOne(context: Context, cluster: Cluster, word: JobWord): Promise<Shown> {
  const signal = context.interrupted;
  const paint = painter(context);
  const { tasks, stage } = word.named;
  const handle = await word.job(context, cluster);
  const { id } = handle;
  if (tasks === undefined && stage === undefined) {
    const { state } = await handle.cancel({ signal });
    const sentence = isFinal(state)
      ? `${id} ${paintState(state, paint)}`
      : `${id} is being cancelled: running tasks are killed`;
    return [{ schema: 'goshawk.cancel/1', job: id, state }, () => sentence];
  }
  const { job, cancelled, killing, ended } = await handle.cancelTasks(tasks, { stage, signal });
  const counts = { cancelled, killing, ended };
  const more = [
    ...(killing > 0 ? [`${formatCount(killing)} running and being killed`] : []),
    ...(ended > 0 ? [`${formatCount(ended)} had ended before`] : []),
  ];
  const sentence = [`${word.shown}: ${counted(cancelled, 'task')} cancelled`, ...more].join(', ');
  return [{ schema: 'goshawk.cancel/1', job: id, state: job.state, tasks: counts }, () => sentence];
}

async function cancelMany(
  context: Context,
  cluster: Cluster,
  filters: Omit<Parameters<Cluster['cancelJobs']>[0], 'signal' | 'dryRun'>,
  isSure: boolean,
): Promise<number> {
  const signal = context.interrupted;
  let unasked: readonly string[] = [];
  let selection: Parameters<Cluster['cancelJobs']>[0] = filters;
  if (!isSure) {
    if (context.ask === undefined)
      throw new InputError(
        'usage',
        'cancel: many jobs are cancelled only after a confirmation, which needs a terminal and no --json',
        'add --yes to skip it',
      );
    const { jobs, waiting, running, ids, silent } = await cluster.cancelJobs({
      ...filters,
      dryRun: true,
      signal,
    });
    // Jobs that match later were not confirmed.
    selection = { ids };
    unasked = silent;
    if (jobs > 0) {
      const tasks = `${formatCount(waiting)} waiting, ${formatCount(running)} running`;
      const answer = await context.ask(`cancel ${counted(jobs, 'job')} (tasks: ${tasks})? [y/N] `);
      if (!/^y(es)?$/i.test(answer)) {
        context.note('nothing was cancelled');
        return ExitCode.done;
      }
    }
  }
  const answer = await cluster.cancelJobs({ ...selection, signal });
  const { jobs, waiting, running } = answer;
  const silent = [...new Set([...unasked, ...answer.silent])];
  context.show({ schema: 'goshawk.cancelled/1', jobs, tasks: { waiting, running }, silent }, () =>
    jobs === 0
      ? 'no such jobs'
      : `${counted(jobs, 'job')} cancelled: ${counted(waiting, 'task')} never ${waiting === 1 ? 'starts' : 'start'}, ${formatCount(running)} running ${running === 1 ? 'is' : 'are'} killed`,
  );
  for (const scheduler of silent) context.note(`no answer from ${scheduler}: its jobs may continue`);
  return silent.length > 0 ? ExitCode.unreachable : ExitCode.done;
}
