import { defineCommand } from '@goshawk/command';
import { InputError } from '@goshawk/core';
import { TARGET_OPTIONS, writeWorkload } from './trace-convert.js';

export const traceSampleCommand = defineCommand({
  name: 'trace sample',
  words: 'WORKLOAD',
  completes: 'workloads',
  describe: 'write part of a workload: a time window, random jobs, or fewer tasks per job',
  examples: [
    ['goshawk trace sample google.tr --jobs 1000 --seed 7 --out some.tr', 'draw a thousand jobs at random'],
    ['goshawk trace sample google.tr --from 2h --until 3h --out hour.tr', 'extract the third hour'],
    [
      'goshawk trace sample google.tr --tasks-max 100 --out small.tr',
      'limit each job to at most a hundred tasks',
    ],
  ],
  needsNoCluster: true,
  options: {
    ...TARGET_OPTIONS,
    from: {
      type: 'duration',
      setting: false,
      describe: 'only jobs submitted at or after this time, which becomes time 0',
    },
    until: { type: 'duration', setting: false, describe: 'only jobs submitted before this time' },
    jobs: {
      type: 'count',
      setting: false,
      min: 1,
      describe: 'number of random jobs; submission times are kept, so the load falls',
    },
    tasksMax: {
      type: 'count',
      setting: false,
      min: 1,
      describe: 'maximum number of tasks per job, drawn at random, with at least one per stage',
    },
    seed: {
      type: 'count',
      setting: true,
      default: 1,
      describe: 'seed of random numbers: drawn jobs and tasks',
    },
  },
  async run(context, options, { words }) {
    const { from, until, jobs, tasksMax, seed } = options;
    if ([from, until, jobs, tasksMax].every((given) => given === undefined)) {
      throw new InputError(
        'usage',
        'trace sample needs one of --jobs, --from, --until or --tasks-max',
        '`goshawk trace convert` copies the whole workload',
      );
    }
    await writeWorkload(context, 'trace sample', words[0]!, options, {
      fromSeconds: from === undefined ? undefined : from / 1000,
      toSeconds: until === undefined ? undefined : until / 1000,
      jobs,
      tasksMax,
      seed,
    });
  },
});
