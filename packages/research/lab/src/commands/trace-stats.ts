import { defineCommand } from '@goshawk/command';
import { InputError } from '@goshawk/core';
import { formatStats, formatTally, plotStats, traceStats } from '@goshawk/traces';
import { checkOutput } from '../output/comparison.js';
import { jobsWithProgress, openWithProgress } from '../workload.js';

export const traceStatsCommand = defineCommand({
  name: 'trace stats',
  words: 'WORKLOAD',
  completes: 'workloads',
  describe: 'print statistics of a trace file or of a generator',
  examples: [
    [
      'goshawk trace stats trace.tr',
      'print jobs, run times, and the share of work in the longest tenth of the jobs',
    ],
    ['goshawk trace stats cloudera --cutoff 273s', 'compare its short and long jobs'],
    ['goshawk trace stats clusterdata-2011-2 --plot', 'plot the official Google tables'],
    [
      'goshawk trace stats google-like:jobs=10000 --workers 15000 --json',
      'print statistics of a generator as JSON',
    ],
  ],
  needsNoCluster: true,
  options: {
    workers: {
      type: 'texts',
      value: 'N',
      setting: false,
      describe: 'cluster size to compute the load for; repeatable',
    },
    cutoff: {
      type: 'duration',
      setting: false,
      describe: 'mean task run time at which a job is long: compare short and long jobs',
    },
    csv: {
      type: 'flag',
      setting: false,
      describe: 'print CSV, a header and one row, with the keys of --json as columns',
    },
    plot: {
      type: 'flag',
      setting: false,
      describe: 'draw the distributions of tasks per job and of run times (with --json: percentiles)',
    },
  },
  async run(context, options, { words }) {
    await checkOutput(context, options);
    const workers = options.workers.map(clusterSize);
    const workload = await openWithProgress(context, words[0]!);
    const stats = await traceStats(jobsWithProgress(context, workload, 'counting jobs'), {
      ...(workers.length === 0 ? {} : { workers }),
      cdfs: options.plot,
      cutoffSeconds: options.cutoff === undefined ? undefined : options.cutoff / 1_000,
    });
    const { name, tallied } = workload;
    if (options.csv) {
      const { csvOf } = await import('@goshawk/report');
      context.out(csvOf([{ workload: name, ...stats, tallied }]));
      return;
    }
    if (context.global.json) {
      context.json({ ...stats, workload: name, tallied });
      return;
    }
    context.out(`${name}\n${formatStats(stats).trimEnd()}`);
    if (tallied.length > 0) context.out(`\non reading\n${formatTally(tallied).join('\n')}`);
    if (options.plot) context.out(`\n${plotStats(stats, Math.min(context.columns, 100)).trimEnd()}`);
  },
});

function clusterSize(text: string): number {
  const size = Number(text);
  if (!Number.isSafeInteger(size) || size < 1) {
    throw new InputError('bad-option', `--workers: "${text}" is not a whole number of 1 or more`);
  }
  return size;
}
