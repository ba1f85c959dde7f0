import { defineCommand } from '../command.js';
import { jobJson } from '../jobs/json.js';
import { openCluster } from '../jobs/open-cluster.js';
import { outcomeText } from '../jobs/outcome.js';
import { showResults } from '../jobs/show-results.js';
import { exitCodeOf, leave, waitForJobs } from '../jobs/waiting.js';

export const waitCommand = defineCommand({
  name: 'wait',
  words: 'ID…',
  wordsMin: 1,
  wordsMax: Number.POSITIVE_INFINITY,
  describe: 'wait for the end of jobs; exit with 0 only if all of their tasks completed',
  examples: [
    ['goshawk wait $id', 'from anywhere; answers at once when the job has ended'],
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
    const ids = [...new Set(words)];
    await using cluster = await openCluster(context);
    const handles = ids.map((id) => cluster.job(id));
    try {
      const ended = await waitForJobs(context, handles, {
        any: options.any,
        timeoutMs: options.waitTimeout,
        ended: (job) => {
          if (context.global.json) context.json(jobJson(job));
          else context.out(outcomeText(job, context.color));
        },
      });
      if (options.results) for (const job of ended) await showResults(context, cluster.job(job.id), job);
      return exitCodeOf(ended);
    } catch (error) {
      return leave(context, error);
    }
  },
});
