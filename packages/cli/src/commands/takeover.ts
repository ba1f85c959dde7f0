import { defineCommand, plain } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { counted, InputError } from '@goshawk/core';

export const takeoverCommand = defineCommand({
  name: 'takeover',
  words: '[SCHEDULER]',
  describe:
    'let another scheduler, or a scheduler with a copy of its data folder, take over the jobs of SCHEDULER; SCHEDULER exits if it is running',
  examples: [
    ['goshawk takeover s3', 'take over immediately, without waiting for the lease to expire'],
    [
      'goshawk takeover --all',
      'take over from all missing schedulers with journals in PostgreSQL, for example after a restore',
    ],
  ],
  options: {
    all: {
      type: 'flag',
      setting: false,
      describe: 'take over from all schedulers that are disconnected or missing',
    },
  },
  async run(context, { all }, { words }) {
    if (all === words.length > 0)
      throw new InputError(
        'usage',
        'takeover: name a scheduler, or use --all',
        '`goshawk journal owners` lists them',
      );
    await using cluster = await openCluster(context);
    const answer = await cluster.takeOverFrom(words[0] ?? '*', { signal: context.interrupted });
    const { scheduler, schedulers = 1 } = answer;
    const jobs = answer.jobsUnknown === true ? null : answer.jobs;
    context.show({ schema: 'goshawk.takeover/1', scheduler, jobs, schedulers }, () => {
      const known = jobs === null ? 'the jobs' : counted(jobs, 'job');
      if (!all) return `another scheduler takes over ${known} of ${plain(scheduler)}`;
      if (schedulers === 0) return 'no missing scheduler has a journal that other schedulers can read';
      return `other schedulers take over the jobs of ${counted(schedulers, 'scheduler')}`;
    });
  },
});
