import { defineCommand, ExitCode, painter } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { InputError, waitingJson, whyJson } from '@goshawk/core';
import { explainJob } from '../jobs/explain-job.js';
import { noteWarnings } from '../jobs/note-warnings.js';
import { STRICT, strictly } from '../jobs/strict.js';
import { parseChange, whatIfPage } from '../jobs/what-if.js';
import { waitingPage, whyPage } from '../jobs/why-page.js';
import { laboratoryFor } from '../laboratory.js';

export const whyCommand = defineCommand({
  name: 'why',
  words: '[ID[/STAGE][/TASK]]',
  describe:
    'explain why a job or task is waiting or was slow; without an id, explain what is waiting in the cluster and what would help',
  examples: [
    ['goshawk why', 'list waiting tasks by reason'],
    ['goshawk why $id', 'show what the job waits for or where its time went'],
    ['goshawk why $id/7', 'show the same for one task'],
    [
      'goshawk why $id --what-if workers=+10 --what-if priority=high',
      'simulate when the job would start with ten more workers, or with high priority',
    ],
  ],
  options: {
    strict: STRICT,
    whatIf: {
      type: 'texts',
      value: 'CHANGE',
      setting: false,
      describe:
        'simulate when the job would start and end with a change: workers=+10, priority=high or policy=hawk (commas combine changes; repeat the option to compare several)',
    },
  },
  async run(context, options, { words }) {
    const asked = words[0];
    const task = asked?.oneTask;
    if (options.whatIf.length > 0 && (asked === undefined || task !== undefined))
      throw new InputError('usage', 'why: --what-if needs the ID of a job', 'name one job, without a task');
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const paint = painter(context);
    if (asked === undefined) {
      const waiting = await cluster.waiting({ signal });
      context.show(waitingJson(waiting), () => waitingPage(waiting, paint));
      noteWarnings(context, cluster);
      return strictly(options.strict, waiting.silent);
    }
    const job = await asked.job(context, cluster);
    const { tasks, stage } = asked.named;
    await job.selectTasks(tasks, { stage, signal });
    if (options.whatIf.length > 0) {
      const changes = options.whatIf.map(parseChange);
      const { whatIfJob } = await laboratoryFor('why --what-if');
      const predicted = await whatIfJob(cluster, job.id, changes, signal);
      context.show(predicted, () => whatIfPage(options.whatIf, predicted, paint));
      return ExitCode.done;
    }
    const { json } = context.global;
    const { explained, background } = await explainJob(cluster, job, { task, withEnd: !json, signal });
    context.show(whyJson(explained, { now: Date.now(), cutoff: background.cutoff }), () =>
      whyPage(explained, background, paint),
    );
    noteWarnings(context, cluster);
    return ExitCode.done;
  },
});
