import type { JobHandle } from '@goshawk/client';
import {
  type Context,
  defineCommand,
  ExitCode,
  type JobWord,
  painter,
  redrawing,
  throwAll,
} from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { InputError, type JobDetail, jobJson, type Output } from '@goshawk/core';
import { jobPage } from '../jobs/job-page.js';
import { noteWarnings } from '../jobs/note-warnings.js';
import { outcomesOf } from '../jobs/outcomes.js';
import { specJson } from '../jobs/spec-json.js';
import { leave, waitForJobs } from '../jobs/wait-for-jobs.js';

export const jobCommand = defineCommand({
  name: 'job',
  words: 'ID…',
  describe: 'show progress and failures of jobs, and a summary after they end',
  examples: [
    ['goshawk job $id --watch', 'update the display until the job ends'],
    ['goshawk job $id --spec', 'also show the submitted job'],
    ['goshawk job $a $b --json', 'print a line of JSON per job'],
  ],
  options: {
    watch: { type: 'flag', setting: false, describe: 'update until the job ends' },
    spec: { type: 'flag', setting: false, describe: 'also show the submitted job' },
  },
  async run(context, options, { words }) {
    if (options.watch && options.spec) {
      throw new InputError('usage', 'job: --watch and --spec cannot be used together', 'use one of them');
    }
    if (options.watch && words.length > 1)
      throw new InputError('usage', 'job: --watch accepts only one job', '`goshawk wait` waits for several');
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    if (options.watch) return await watch(context, await words[0]!.wholeJob(context, cluster));
    const problems: unknown[] = [];
    const described = async (word: JobWord): Promise<JobDetail> =>
      (await word.wholeJob(context, cluster)).describe({ spec: options.spec, signal });
    const known = new Set<string>();
    let shown = 0;
    for await (const outcome of outcomesOf(new Set(words), described)) {
      if (outcome.status === 'rejected') {
        signal.throwIfAborted();
        // The other jobs are still shown.
        problems.push(outcome.reason);
        continue;
      }
      const detail = outcome.value;
      // A prefix may name the same job as another word.
      if (known.has(detail.id)) continue;
      known.add(detail.id);
      const spec = options.spec ? `\n${JSON.stringify(specJson(detail.spec), undefined, 2)}` : '';
      const gap = shown++ > 0 ? '\n' : '';
      context.show(shownJson(detail), () => `${gap}${pageOf(context, detail)}${spec}`);
    }
    noteWarnings(context, cluster);
    throwAll(context, problems);
    return ExitCode.done;
  },
});

/** Shows a job until it ends: as JSON lines, redrawn on a terminal, or once at the end without a terminal. */
async function watch(context: Context, job: JobHandle): Promise<number> {
  if (context.global.json) {
    for await (const detail of detailsOf(context, job)) context.json(shownJson(detail));
  } else if (context.stdout.isTTY === true) {
    const draw = redrawing(context);
    for await (const detail of detailsOf(context, job)) draw(pageOf(context, detail));
  } else {
    try {
      const ended = (detail: JobDetail) => context.out(pageOf(context, detail));
      await waitForJobs(context, [job], { ended });
    } catch (error) {
      return leave(context, error);
    }
  }
  return ExitCode.done;
}

/** Yields the job after each change; the last time when it has ended. */
async function* detailsOf(context: Context, job: JobHandle): AsyncGenerator<JobDetail> {
  const signal = context.interrupted;
  for await (const event of job.events({ signal })) {
    yield event.kind === 'ended' ? event.job : await job.describe({ signal });
  }
}

function shownJson(detail: JobDetail): Output<'goshawk.job/1'> {
  const { spec } = detail;
  return jobJson(detail, Date.now(), spec === undefined ? {} : { spec: specJson(spec) });
}

function pageOf(context: Context, detail: JobDetail): string {
  return jobPage(detail, Date.now(), painter(context));
}
