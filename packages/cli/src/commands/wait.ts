import { defineCommand } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { awaitEnds } from '../jobs/await-ends.js';
import { findJobs } from '../jobs/find-jobs.js';

export const waitCommand = defineCommand({
  name: 'wait',
  words: 'ID…',
  describe: 'wait for jobs to end; exit with 0 if all tasks completed, with 4 if a deadline was missed',
  examples: [
    ['goshawk wait $id', 'wait on any machine; return immediately if the job has ended'],
    ['goshawk wait last', 'wait for your last job; a prefix of an id also works'],
    ['goshawk wait $a $b --any --wait-timeout 10m', 'wait at most ten minutes for the first of two jobs'],
  ],
  options: {
    any: {
      type: 'flag',
      setting: false,
      describe: 'wait for the first job to end, and exit with its outcome',
    },
    results: {
      type: 'flag',
      setting: false,
      describe:
        'print the results, one JSON line per task: the return value of a module, otherwise the state with error or exit code',
    },
    bell: { type: 'flag', setting: false, describe: 'ring the bell of the terminal at the end' },
    waitTimeout: {
      type: 'duration',
      setting: true,
      describe: 'wait at most this long, then exit with 124; the jobs continue',
    },
  },
  async run(context, options, { words }) {
    await using cluster = await openCluster(context);
    const jobs = await findJobs(context, cluster, words);
    try {
      return await awaitEnds(context, jobs, options);
    } finally {
      if (options.bell && context.stderr.isTTY === true) context.stderr.write('\u0007');
    }
  },
});
