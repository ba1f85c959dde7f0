import { jobJson } from '@goshawk/core';
import { defineCommand } from '../command.js';
import { jobsNamed } from '../jobs/named.js';
import { openCluster } from '../jobs/open-cluster.js';
import { outcomeText } from '../jobs/outcome.js';
import { endedJson, showResults } from '../jobs/show-results.js';
import { exitCodeOf, leave, waitForJobs } from '../jobs/waiting.js';

export const waitCommand = defineCommand({
  name: 'wait',
  words: 'ID…',
  completes: 'ids',
  wordsMin: 1,
  wordsMax: Number.POSITIVE_INFINITY,
  describe:
    'wait for the end of jobs; exit with 0 only if all of their tasks completed, with 4 if a deadline was missed (--json: a line for each job as it ends)',
  examples: [
    ['goshawk wait $id', 'from anywhere; answers at once when the job has ended'],
    ['goshawk wait last', 'for the job that you submitted last; the first letters of an id are enough, too'],
    ['goshawk wait $a $b --any --wait-timeout 10m', 'for the first of two, ten minutes at most'],
  ],
  options: {
    any: { type: 'flag', flagOnly: true, describe: 'until the first of them ends, and with its outcome' },
    results: {
      type: 'flag',
      flagOnly: true,
      describe: 'print what the tasks of a job that completed returned, as JSON, a line a task',
    },
    waitTimeout: { type: 'duration', describe: 'so long at most, then exit with 124; the jobs go on' },
  },
  async run(context, options, { words }) {
    const { json } = context.global;
    await using cluster = await openCluster(context);
    const ids = await jobsNamed(context, cluster, words);
    const handles = ids.map((id) => cluster.job(id));
    try {
      const ended = await waitForJobs(context, handles, {
        any: options.any,
        timeoutMs: options.waitTimeout,
        ended: (job) => {
          if (!json) context.out(outcomeText(job, context.color));
          else if (!options.results) context.json(jobJson(job, Date.now()));
        },
      });
      for (const job of options.results ? ended : []) {
        const handle = cluster.job(job.id);
        if (json) context.json(await endedJson(context, handle, job, true));
        else await showResults(context, handle, job);
      }
      return exitCodeOf(ended);
    } catch (error) {
      return leave(context, error);
    }
  },
});
