import { type Context, commandLine, defineCommand } from '@goshawk/command';
import { sizeOfWorker } from '@goshawk/command/cluster';
import { counted } from '@goshawk/core';
import { formatTally } from '@goshawk/traces';
import { checkOutput, printComparison } from '../output/comparison.js';
import { outputFiles, saveResults } from '../output/files.js';
import { namedResources } from '../simulate/capacity.js';
import { SIMULATE_OPTIONS, type SimulateOptions } from '../simulate/options.js';
import {
  checkOptions,
  gangNote,
  partitionNote,
  planRuns,
  type Sizing,
  simulateVariants,
  sizeOf,
  withClusterOf,
} from '../simulate/plan.js';
import { referenceLines } from '../simulate/references.js';
import type { RunOutcome, RunRequest } from '../simulate/request.js';
import { performWithProgress, sourceOf, surveyWithProgress } from '../simulate/shown.js';
import type { Survey } from '../simulate/survey.js';
import { grantsIn } from '../simulate/users.js';
import { pairsOf } from '../variants.js';

export const simulateCommand = defineCommand({
  name: 'simulate',
  words: 'WORKLOAD',
  completes: 'workloads',
  describe: 'compare policies on a workload in virtual time, using the code of the live cluster',
  examples: [
    [
      'goshawk simulate google-like:jobs=10000 --policy goshawk,hawk --workers 15000',
      'compare Goshawk with Hawk',
    ],
    ['goshawk simulate trace.tr --load 0.9 --seeds 10 --json', 'simulate ten seeds at 90% load'],
    [
      'goshawk simulate trace.tr --policy hawk,hawk:no-stealing --vary load=0.8,0.9 --csv',
      'compare Hawk with and without stealing at two loads',
    ],
  ],
  needsNoCluster: true,
  options: SIMULATE_OPTIONS,
  async run(context, given, { words }) {
    const workload = words[0]!;
    const options = withClusterOf(workload, given);
    checkOptions(options);
    await checkOutput(context, options);
    // This import loads the simulator, which would delay other commands.
    const { networkOf } = await import('../simulate/network.js');
    const variants = simulateVariants(options).map((variant) => ({
      ...variant,
      network: networkOf(variant.options, context.cwd),
    }));
    const written = ['report', 'saveResults'] as const;
    const { report, saveResults: results } = await outputFiles(context.cwd, workload, options, written);
    const resources = namedResources(options);
    const surveyed = await surveyWithProgress(context, workload, options.features, resources);
    const sized = variants.map((variant) => ({ ...variant, sizing: sizeOf(variant.options, surveyed) }));
    const users = await grantsIn(context, options.users);
    const requests = sized
      .flatMap((variant) =>
        planRuns(variant.options, surveyed, variant.sizing, variant.network, variant.label),
      )
      .map((request) => ({ ...request, users }));
    const { sizing } = sized[0]!;
    const sizings = sized.map((variant) => variant.sizing);
    announce(context, surveyed, sizings, requests);
    const source = sourceOf(workload, surveyed, options.features, resources);
    const outcomes = await performWithProgress(context, requests, source, options);
    const pairs = pairsOf(variants);
    const exitCode = await tell(context, options, words, surveyed, sizing, outcomes, report, pairs);
    if (results !== undefined) {
      const records = outcomes.map((outcome) => outcome.records);
      await saveResults(context, results, records);
    }
    return exitCode;
  },
});

function announce(
  context: Context,
  { record, tallied, needs }: Survey,
  sizings: readonly Sizing[],
  requests: readonly RunRequest[],
): void {
  const sizes = sizings.map(
    ({ workers, offeredLoad }) => `${counted(workers, 'worker')}, ${loadInWords(offeredLoad)}`,
  );
  const cutoffs = requests.map(
    ({ policy: { cutoffMs } }) => `${Number((cutoffMs / 1_000).toPrecision(6))} s`,
  );
  context.note(
    `${record.name}: ${counted(record.jobs, 'job')} of ${counted(record.tasks, 'task')} on ${eachOf(sizes)}; ` +
      `cutoff ${eachOf(cutoffs)} of mean task time`,
  );
  for (const line of formatTally(tallied)) context.note(line);
  const notes = requests.flatMap(({ policy, workers }) => [
    partitionNote(policy, workers),
    needs.hasGangs ? gangNote(policy) : '',
  ]);
  for (const note of new Set(notes)) if (note !== '') context.note(note);
}

/** Lists the differing values. */
function eachOf(words: readonly string[]): string {
  return [...new Set(words)].join(' / ');
}

function loadInWords(load: number): string {
  return Number.isFinite(load) ? `offered load ${load.toPrecision(3)}` : 'all submitted at once';
}

async function tell(
  context: Context,
  options: SimulateOptions,
  words: readonly string[],
  { record }: Survey,
  { workers }: Sizing,
  outcomes: readonly RunOutcome[],
  file: string | undefined,
  pairs: ReturnType<typeof pairsOf>,
): Promise<number> {
  const { buildComparison, renderShadow } = await import('@goshawk/report');
  const { schedulers } = options;
  const { slots } = sizeOfWorker(options);
  const comparison = buildComparison({
    workload: record,
    cluster: { workers, slots, schedulers, mode: 'simulated' },
    runs: outcomes.map(({ run }) => run),
    times: outcomes.map(({ jobTimes }) => jobTimes),
    pairs,
  });
  const references = referenceLines(comparison.runs.map(({ policy }) => policy));
  const report = {
    file,
    command: commandLine('simulate', words, SIMULATE_OPTIONS, options),
    series: outcomes.map((outcome) => outcome.series),
    note: references.length === 0 ? undefined : references.join(' '),
  };
  const after = [...references, renderShadow(comparison)].filter((text) => text !== '');
  return printComparison(context, options, comparison, report, after);
}
