import { type Context, commandLine, defineCommand } from '@goshawk/command';
import { policyNames } from '@goshawk/command/policy';
import { InputError } from '@goshawk/core';
import { checkOutput, printComparison } from '../output/comparison.js';
import { outputFiles, saveResults } from '../output/files.js';
import { checkEstimator } from '../replay/estimates.js';
import { checkFlagsFor, REPLAY_OPTIONS, type ReplayOptions, replayVariants } from '../replay/options.js';
import { type Replayed, replayLocally, replayOnCluster } from '../replay/replay.js';
import { scaleLine } from '../replay/wording.js';
import { pairsOf } from '../variants.js';

export const replayCommand = defineCommand({
  name: 'replay',
  words: 'WORKLOAD',
  completes: 'workloads',
  describe:
    'run a workload on a real cluster once per policy, and compare the policies; the workload is a trace file or a generator such as google-like:jobs=3300,seed=7',
  examples: [
    [
      'goshawk replay google-like:jobs=3300 --for 30s --report out.html',
      'compare Goshawk, Hawk and Sparrow, and write a report with charts',
    ],
    ['goshawk replay trace.tr --policy goshawk,hawk --scale 1000', 'replay a trace a thousand times faster'],
    ['goshawk replay prototype --cluster tcp://127.0.0.1:7070', 'replay on a running cluster'],
  ],
  options: REPLAY_OPTIONS,
  async run(context, options, { words }, origins) {
    const { cluster } = context.global;
    if (cluster !== undefined) checkFlagsFor(cluster, options, origins);
    const spec = words[0]!;
    checkOptions(options);
    await checkOutput(context, options);
    const written = ['report', 'saveResults', 'saveJobs'] as const;
    const { report, saveResults: results } = await outputFiles(context.cwd, spec, options, written);
    const replayed =
      cluster === undefined
        ? await replayLocally(context, options, spec)
        : await replayOnCluster(context, options, spec, policiesOf(options));
    const exitCode = await tell(context, options, words, replayed, report);
    if (results !== undefined) {
      const records = replayed.runs.map((run) => run.records);
      await saveResults(context, results, records);
    }
    return exitCode;
  },
});

/** Returns the requested policies for a replay on an existing cluster, which already has a policy. */
function policiesOf(options: ReplayOptions): readonly string[] | undefined {
  checkEstimator(options.estimator);
  return options.policy === undefined ? undefined : policyNames(options.policy);
}

/** Checks combinations of options. */
function checkOptions(options: ReplayOptions): void {
  if (options.scale !== undefined && options.for !== undefined) {
    throw new InputError('bad-option', '--scale and --for cannot be used together', 'use one of them');
  }
  if (options.for !== undefined && !(options.for > 0)) {
    throw new InputError('bad-option', '--for must be more than 0', 'for example --for 60s');
  }
}

async function tell(
  context: Context,
  options: ReplayOptions,
  words: readonly string[],
  { plan, shape, runs }: Replayed,
  file: string | undefined,
): Promise<number> {
  const { buildComparison } = await import('@goshawk/report');
  const comparison = buildComparison({
    workload: plan.workload,
    cluster: { ...shape, mode: 'live' },
    runs: runs.map(({ run }) => run),
    times: runs.length > 1 ? runs.map(({ times }) => times) : [],
    pairs: context.global.cluster === undefined ? pairsOf(replayVariants(options)) : undefined,
  });
  return printComparison(context, options, comparison, {
    file,
    command: commandLine('replay', words, REPLAY_OPTIONS, options),
    series: runs.map(({ series }) => series),
    note: scaleLine(plan),
  });
}
