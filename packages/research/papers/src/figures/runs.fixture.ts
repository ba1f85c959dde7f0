import { finishRun, RunTally } from '@goshawk/report';
import type { RunsAt } from './assess.js';
import type { Tick } from './axis.js';
import type { FinishedRun } from './measure.js';
import type { Point } from './point.js';

interface SampleJobs {
  /** Run times of short jobs, in seconds. */
  readonly short: readonly number[];
  readonly long?: readonly number[];
  readonly seed?: number;
  readonly policy?: string;
  readonly slots?: number;
}

/** Submission of the last job; the others are submitted at 0. */
const LAST_SUBMISSION_SECONDS = 10;

/** A run with the given run times; each job waits for half of its time. */
export function finishedRun({
  short,
  long = [],
  seed = 1,
  policy = 'hawk',
  slots = 100,
}: SampleJobs): FinishedRun {
  const all = [...short, ...long];
  const submittedAt = (job: number) => (job === all.length - 1 ? LAST_SUBMISSION_SECONDS : 0);
  const tally = new RunTally({ policy, totalSlots: slots, snapshotIntervalSeconds: 1 });
  for (const [index, seconds] of all.entries())
    tally.add({
      id: `${index}`,
      class: index < short.length ? 'short' : 'long',
      outcome: 'completed',
      submitSeconds: submittedAt(index),
      runtimeSeconds: seconds,
      taskCount: 1,
      taskStartsSeconds: [submittedAt(index) + seconds / 2],
      taskRunSeconds: [seconds / 2],
    });
  const { run, series } = finishRun(tally, {
    seed,
    options: { policy, workers: slots },
    messages: { total: 0, byType: {} },
    steals: { attempts: 0, successes: 0, probesMoved: 0 },
    wallSeconds: 1,
  });
  return {
    run,
    series,
    jobs: {
      runtimeSeconds: Float64Array.from(all),
      isLong: Uint8Array.from(all, (_, index) => (index < short.length ? 0 : 1)),
      details: {
        submitSeconds: Float64Array.from(all, (_, index) => submittedAt(index)),
        tasks: Float64Array.from(all, () => 10),
        normalisedWaits: Float64Array.from(all, () => 1),
        meanSeconds: Float64Array.from(all, (seconds) => seconds / 2),
        estimateSeconds: Float64Array.from(all, (seconds) => seconds / 2),
        ratioPercents: Float64Array.from(all, (_, index) => 1 + (index % 5)),
      },
    },
  };
}

function tick(x: number, label = `${x}`): Tick {
  return { x, label, settings: {} };
}

export function runsAt(x: number, byVariant: Readonly<Record<string, SampleJobs | SampleJobs[]>>): RunsAt {
  const finished = Object.entries(byVariant).map(([name, jobs]) => [name, [jobs].flat().map(finishedRun)]);
  return { tick: tick(x), byVariant: Object.fromEntries(finished) };
}

/** Points from which a series reads `valuesAlong`. */
export function pointsAlong(xs: readonly number[]): Point[] {
  return xs.map((x) => ({ tick: tick(x), measured: {}, paired: {} }));
}
