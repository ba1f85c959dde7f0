import type { JobHandle } from '@goshawk/client';
import { type Context, defineCommand, type JobWord, throwAll } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { counted, InputError, type JobSummary, PRIORITIES, summaryJson } from '@goshawk/core';
import { outcomesOf } from '../jobs/outcomes.js';

export const holdCommand = defineCommand({
  name: 'hold',
  words: 'ID…',
  describe: 'start no more tasks of jobs until they are released; running tasks continue',
  examples: [['goshawk hold $id; goshawk release $id', 'start no new tasks, then let them start again']],
  options: {},
  run: (context, _options, { words }) =>
    forEach(
      context,
      words,
      (job, signal) => job.hold({ signal }),
      (job) => context.show({ schema: 'goshawk.hold/1', ...changedJson(job) }, () => heldSentence(job)),
    ),
});

export const releaseCommand = defineCommand({
  name: 'release',
  words: 'ID…',
  describe: 'release jobs on hold; jobs that wait for their --begin time start now',
  examples: [
    ['id=$(goshawk submit --hold -- true); goshawk release $id', 'submit a job on hold, and release it'],
  ],
  options: {},
  run: (context, _options, { words }) =>
    forEach(
      context,
      words,
      (job, signal) => job.release({ signal }),
      (job) =>
        context.show({ schema: 'goshawk.release/1', ...changedJson(job) }, () => `${job.id} is released`),
    ),
});

export const updateCommand = defineCommand({
  name: 'update',
  words: 'ID…',
  describe: 'change the priority of jobs that have not ended',
  examples: [
    ['goshawk update $id --priority high', 'start waiting tasks of the job before those of other jobs'],
  ],
  options: {
    priority: {
      type: 'text',
      value: 'LEVEL',
      setting: false,
      choices: PRIORITIES,
      describe: 'priority of the job; policies without priorities ignore it',
    },
  },
  async run(context, { priority }, { words }) {
    if (priority === undefined)
      throw new InputError('usage', 'update: nothing to change', 'set --priority to low, normal or high');
    return forEach(
      context,
      words,
      (job, signal) => job.update({ priority }, { signal }),
      (job) =>
        context.show(
          { schema: 'goshawk.update/1', ...changedJson(job), priority },
          () => `${job.id} has priority ${priority}`,
        ),
    );
  },
});

/** Changes jobs. A failure does not prevent changes of the other jobs. */
async function forEach(
  context: Context,
  words: readonly JobWord[],
  change: (job: JobHandle, signal: AbortSignal) => Promise<JobSummary>,
  show: (job: JobSummary) => void,
): Promise<undefined> {
  await using cluster = await openCluster(context);
  const problems: unknown[] = [];
  const changed = async (word: JobWord): Promise<JobSummary> =>
    change(await word.wholeJob(context, cluster), context.interrupted);
  for await (const outcome of outcomesOf(new Set(words), changed)) {
    if (outcome.status === 'rejected') {
      context.interrupted.throwIfAborted();
      problems.push(outcome.reason);
      continue;
    }
    show(outcome.value);
  }
  throwAll(context, problems);
}

function changedJson(job: JobSummary) {
  return { job: job.id, ...summaryJson(job, Date.now()) };
}

function heldSentence({ id, tasks: { running, waiting } }: JobSummary): string {
  const goOn =
    running === 0 ? '' : `${counted(running, 'task')} ${running === 1 ? 'runs' : 'run'} to the end, `;
  return `${id} is on hold: ${goOn}${counted(waiting, 'task')} ${waiting === 1 ? 'waits' : 'wait'} for \`goshawk release ${id}\``;
}
