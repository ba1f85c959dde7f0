import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineCommand, ExitCode } from '../command.js';
import type { Context } from '../context.js';
import { InterruptedError } from '../failure.js';
import { checkReportFile, writeReportFile } from '../replay/report-file.js';
import { policyNames } from '../settings.js';
import { SIMULATE_OPTIONS, type SimulateOptions } from '../simulate/options.js';
import { planRuns, type Sizing, sizeOf } from '../simulate/plan.js';
import type { RunOutcome, RunProgress, RunRequest } from '../simulate/request.js';
import { type Survey, survey } from '../simulate/survey.js';
import { performAll } from '../simulate/threads.js';
import { commandLine } from '../terminal/command-line.js';
import { startProgress } from '../terminal/progress.js';
import { VERSION } from '../version.js';
import { jobsShown, openShown } from '../workload.js';

export const simulateCommand = defineCommand({
  name: 'simulate',
  words: 'WORKLOAD',
  wordsMin: 1,
  wordsMax: 1,
  describe: 'run a workload in virtual time, on the machines that run live, and compare policies',
  examples: [
    ['goshawk simulate google-like:jobs=10000 --policy hawk,sparrow --workers 15000', 'Hawk against Sparrow'],
    [
      'goshawk simulate trace.tr --load 0.9 --seeds 10 --json',
      'ten seeds on as many workers as make 90% load',
    ],
  ],
  options: SIMULATE_OPTIONS,
  async run(context, options, { words }) {
    const workload = words[0]!;
    policyNames(options.policy);
    const report = options.report === undefined ? undefined : resolve(context.cwd, options.report);
    if (report !== undefined) await checkReportFile(report);
    const opened = await openShown(context, workload);
    const surveyed = await survey(opened, jobsShown(context, opened, 'surveying jobs'));
    const sizing = sizeOf(options, surveyed);
    const requests = planRuns(workload, options, surveyed, sizing);
    announce(context, surveyed, sizing, requests[0]!);
    const outcomes = await performShown(context, options, requests);
    return tell(context, options, words, surveyed, sizing, outcomes, report);
  },
});

function announce(
  context: Context,
  { record }: Survey,
  { workers, offeredLoad }: Sizing,
  { policy }: RunRequest,
): void {
  const count = (value: number) => value.toLocaleString('en-US');
  context.note(
    `${record.name}: ${count(record.jobs)} jobs of ${count(record.tasks)} tasks on ${count(workers)} workers, ` +
      `offered load ${offeredLoad.toPrecision(3)}; long from a mean task time of ${Number((policy.cutoffMs / 1_000).toPrecision(6))} s on`,
  );
}

async function performShown(
  context: Context,
  options: SimulateOptions,
  requests: readonly RunRequest[],
): Promise<RunOutcome[]> {
  const parallel = Math.min(options.parallel ?? availableParallelism(), requests.length);
  const progress = startProgress(
    context,
    'simulating',
    requests.reduce((sum, { jobs }) => sum + jobs, 0),
  );
  const latest = new Map<number, RunProgress>();
  const startedAt = performance.now();
  const sumOf = (field: keyof RunProgress): number =>
    [...latest.values()].reduce((sum, one) => sum + one[field], 0);
  try {
    return await performAll(
      requests,
      parallel,
      (index, now) => {
        latest.set(index, now);
        const rate = sumOf('events') / (performance.now() - startedAt) / 1_000;
        const at = Math.max(...[...latest.values()].map(({ simulatedSeconds }) => simulatedSeconds));
        progress.update(
          sumOf('jobsDone'),
          `${rate.toFixed(1)} M events/s, at ${Math.round(at).toLocaleString('en-US')} s`,
        );
      },
      context.interrupted,
    );
  } catch (error) {
    if (!context.interrupted.aborted) throw error;
    progress.stop();
    const done = sumOf('jobsDone').toLocaleString('en-US');
    throw new InterruptedError(`${done} jobs were simulated; nothing was written`);
  } finally {
    progress.stop();
  }
}

async function tell(
  context: Context,
  options: SimulateOptions,
  words: readonly string[],
  { record }: Survey,
  { workers }: Sizing,
  outcomes: readonly RunOutcome[],
  report: string | undefined,
): Promise<number> {
  const { buildComparison, renderHtml, renderTable } = await import('@goshawk/report');
  const { slots, schedulers } = options;
  const comparison = buildComparison({
    workload: record,
    cluster: { workers, slots, schedulers, mode: 'simulated' },
    runs: outcomes.map(({ run }) => run),
  });
  if (report !== undefined) {
    const command = commandLine('simulate', words, SIMULATE_OPTIONS, options);
    const series = outcomes.map((outcome) => outcome.series);
    await writeReportFile(
      report,
      renderHtml(comparison, series, { command, generator: `goshawk ${VERSION}` }),
    );
  }
  if (context.global.json) context.json(comparison);
  else context.out(`\n${renderTable(comparison, { color: context.color, columns: context.columns })}`);
  if (report !== undefined) context.note(`\nthe report with charts is in ${report}`);
  return comparison.runs.some((run) => run.jobs.failed > 0) ? ExitCode.failed : ExitCode.done;
}
