import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Comparison, RunSeries } from '@goshawk/report';
import { defineCommand, ExitCode } from '../command.js';
import type { Context } from '../context.js';
import { untilInterrupted } from '../interruption.js';
import { counted } from '../jobs/words.js';
import { checkReportFile, writeReportFile } from '../replay/report-file.js';
import { SIMULATE_OPTIONS, type SimulateOptions } from '../simulate/options.js';
import { checkOptions, partitionNote, planRuns, type Sizing, sizeOf } from '../simulate/plan.js';
import type { JobSource, RunOutcome, RunRequest } from '../simulate/request.js';
import { type Survey, survey } from '../simulate/survey.js';
import { performAll } from '../simulate/threads.js';
import { RunsTracker } from '../simulate/tracker.js';
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
    checkOptions(options);
    const report = options.report === undefined ? undefined : resolve(context.cwd, options.report);
    if (report !== undefined) await checkReportFile(report, workload);
    const surveyed = await surveyShown(context, workload);
    const sizing = sizeOf(options, surveyed);
    const requests = planRuns(options, surveyed, sizing);
    announce(context, surveyed, sizing, requests);
    const { packed } = surveyed;
    const source: JobSource =
      packed === undefined ? { kind: 'spec', spec: workload } : { kind: 'packed', packed };
    const outcomes = await performShown(context, options, requests, source);
    return tell(context, options, words, surveyed, sizing, outcomes, report);
  },
});

function surveyShown(context: Context, workload: string): Promise<Survey> {
  let jobs = 0;
  const onJob = () => {
    jobs++;
  };
  return untilInterrupted(
    context,
    async () => {
      const opened = await openShown(context, workload, onJob);
      jobs = 0;
      return survey(opened, jobsShown(context, opened, 'surveying jobs', onJob), context.interrupted);
    },
    () => `the workload was still being read (${counted(jobs, 'job')} so far); nothing was simulated`,
  );
}

function announce(
  context: Context,
  { record }: Survey,
  { workers, offeredLoad }: Sizing,
  requests: readonly RunRequest[],
): void {
  const { cutoffMs } = requests[0]!.policy;
  const load = Number.isFinite(offeredLoad)
    ? `offered load ${offeredLoad.toPrecision(3)}`
    : 'all submitted at once';
  context.note(
    `${record.name}: ${counted(record.jobs, 'job')} of ${counted(record.tasks, 'task')} on ${counted(workers, 'worker')}, ` +
      `${load}; long from a mean task time of ${Number((cutoffMs / 1_000).toPrecision(6))} s on`,
  );
  const notes = requests.map(({ policy }) => partitionNote(policy, workers));
  for (const note of new Set(notes)) if (note !== '') context.note(note);
}

async function performShown(
  context: Context,
  options: SimulateOptions,
  requests: readonly RunRequest[],
  source: JobSource,
): Promise<RunOutcome[]> {
  const parallel = Math.min(options.parallel ?? availableParallelism(), requests.length);
  const tracker = new RunsTracker(requests);
  const progress = startProgress(context, 'simulating', tracker.jobs);
  const work = () =>
    performAll(
      requests,
      source,
      parallel,
      (index, now) => {
        tracker.note(index, now);
        progress.update(tracker.jobsDone, tracker.describe());
      },
      context.interrupted,
    );
  try {
    return await untilInterrupted(context, work, () => {
      // Before the line that says so.
      progress.stop();
      return tracker.whereItStood();
    });
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
  const { buildComparison, renderTable } = await import('@goshawk/report');
  const { slots, schedulers } = options;
  const comparison = buildComparison({
    workload: record,
    cluster: { workers, slots, schedulers, mode: 'simulated' },
    runs: outcomes.map(({ run }) => run),
  });
  if (report !== undefined) {
    const series = outcomes.map((outcome) => outcome.series);
    const command = commandLine('simulate', words, SIMULATE_OPTIONS, options);
    await untilInterrupted(
      context,
      () => writeReport(context, report, comparison, series, command),
      () => 'everything was simulated, but the report was still being written; there is none',
    );
  }
  if (context.global.json) context.json(comparison);
  else context.out(`\n${renderTable(comparison, { color: context.color, columns: context.columns })}`);
  if (report !== undefined) context.note(`\nthe report with charts is in ${report}`);
  return comparison.runs.some((run) => run.jobs.failed > 0) ? ExitCode.failed : ExitCode.done;
}

async function writeReport(
  context: Context,
  file: string,
  comparison: Comparison,
  series: readonly RunSeries[],
  command: string,
): Promise<void> {
  context.note('writing the report');
  const { renderHtml } = await import('@goshawk/report');
  const page = renderHtml(comparison, series, { command, generator: `goshawk ${VERSION}` });
  // Drawing takes a while in which nothing is heard.
  await setImmediate();
  await writeReportFile(file, page, context.interrupted);
}
