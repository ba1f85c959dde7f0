import { defineCommand, ExitCode } from '@goshawk/cli';
import { InputError } from '@goshawk/core';
import { TARGET_OPTIONS, writeWorkload } from './trace-convert.js';

export const traceSampleCommand = defineCommand({
  name: 'trace sample',
  words: 'WORKLOAD',
  completes: 'workloads',
  wordsMin: 1,
  wordsMax: 1,
  describe:
    'write a part of a workload: a window of time, jobs drawn at random, at most so many tasks of each',
  examples: [
    ['goshawk trace sample google.tr --jobs 1000 --seed 7 --out some.tr', 'a thousand jobs, drawn at random'],
    ['goshawk trace sample google.tr --from 2h --until 3h --out hour.tr', 'the third hour'],
    ['goshawk trace sample google.tr --tasks-max 100 --out small.tr', 'no job of more than a hundred tasks'],
  ],
  options: {
    ...TARGET_OPTIONS,
    from: {
      type: 'duration',
      flagOnly: true,
      describe: 'jobs submitted from this time of the trace on, which becomes time 0',
    },
    until: { type: 'duration', flagOnly: true, describe: 'jobs submitted before this time of the trace' },
    jobs: {
      type: 'count',
      flagOnly: true,
      min: 1,
      describe:
        'so many jobs, at random (all, if there are fewer), at their own times: the load falls with them',
    },
    tasksMax: {
      type: 'count',
      flagOnly: true,
      min: 1,
      describe: 'of each job at most so many tasks, at random, and one of each stage at least',
    },
    seed: { type: 'count', default: 1, describe: 'of the jobs and tasks drawn' },
  },
  async run(context, options, { words }) {
    const { from, until, jobs, tasksMax, seed } = options;
    if ([from, until, jobs, tasksMax].every((given) => given === undefined)) {
      throw new InputError(
        'usage',
        'trace sample needs to know of what: --jobs, --from, --until or --tasks-max',
        '`goshawk trace convert` writes all of it',
      );
    }
    await writeWorkload(context, 'trace sample', words[0]!, options, {
      fromSeconds: from === undefined ? undefined : from / 1000,
      toSeconds: until === undefined ? undefined : until / 1000,
      jobs,
      tasksMax,
      seed,
    });
    return ExitCode.done;
  },
});
