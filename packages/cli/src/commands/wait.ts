import { jobJson } from '@goshawk/core';
import { openCluster } from '../cluster.js';
import { defineCommand } from '../command.js';
import { jobsNamed } from '../jobs/named.js';
import { endedJson, showResults } from '../jobs/show-results.js';
import { exitCodeOf, leave, waitForJobs } from '../jobs/waiting.js';
import { outcomeText } from '../jobs/words.js';

export const waitCommand = defineCommand({
  name: 'wait',
  words: 'ID…',
  completes: 'ids',
  describe: 'wait for jobs to end; exit with 0 if all tasks completed, with 4 if a deadline was missed',
  examples: [
    ['goshawk wait $id', 'from any machine; returns immediately if the job has ended'],
    ['goshawk wait last', 'your last job; a prefix of an id also works'],
    ['goshawk wait $a $b --any --wait-timeout 10m', 'for the first of two jobs, at most ten minutes'],
  ],
  options: {
    any: {
      type: 'flag',
      flagOnly: true,
      describe: 'wait for the first job to end, and exit with its outcome',
    },
    results: {
      type: 'flag',
      flagOnly: true,
      describe:
        'print the results, one JSON line per task: the return value of a module, otherwise the state with error or exit code',
    },
    waitTimeout: {
      type: 'duration',
      describe: 'wait at most this long, then exit with 124; the jobs continue',
    },
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
          if (json && !options.results) context.json(jobJson(job, Date.now()));
          else if (!json && options.results) context.note(outcomeText(job, context.errorColor));
          else if (!json) context.out(outcomeText(job, context.color));
        },
      });
      for (const job of options.results ? ended : []) {
        const handle = cluster.job(job.id);
        if (json) context.json(await endedJson(context, handle, job, true));
        else await showResults(context, handle);
      }
      return exitCodeOf(ended);
    } catch (error) {
      return leave(context, error);
    }
  },
});
