import { Samples, sumOf } from '@goshawk/core';
import { type Columns, runTable } from './columns.js';
import type { DeadlineResults, Run } from './comparison.js';
import type { JobResult } from './job-result.js';
import { ABSENT, duration, percent, threeDigits, whole } from './numbers.js';

/** Outcomes of jobs with deadlines and of the others (3Sigma §5), per job. */
export class DeadlineTally {
  #jobs = 0;
  #missed = 0;
  #others = 0;
  #othersCompleted = 0;
  #othersSeconds = 0;
  /** Completed jobs: end time, and slot time of the tasks, negative without a deadline. */
  readonly #ends = new Samples();
  readonly #work = new Samples();

  add({
    deadlineSeconds,
    outcome,
    submitSeconds,
    runtimeSeconds,
    taskRunSeconds,
  }: Pick<
    JobResult,
    'deadlineSeconds' | 'outcome' | 'submitSeconds' | 'runtimeSeconds' | 'taskRunSeconds'
  >): void {
    const hasDeadline = deadlineSeconds !== undefined;
    const isCompleted = outcome === 'completed';
    if (hasDeadline) {
      this.#jobs++;
      if (!isCompleted || runtimeSeconds > deadlineSeconds) this.#missed++;
    } else {
      this.#others++;
      if (isCompleted) {
        this.#othersCompleted++;
        this.#othersSeconds += runtimeSeconds;
      }
    }
    if (!isCompleted) return;
    const work = sumOf(taskRunSeconds);
    this.#ends.push(submitSeconds + runtimeSeconds);
    this.#work.push(hasDeadline ? work : -work);
  }

  /**
   * Returns the results.
   *
   * @param untilSeconds the last submission: jobs that end later do not count, since the cluster is emptying
   * then
   * @returns undefined if no job has a deadline
   */
  read(untilSeconds: number): DeadlineResults | undefined {
    if (this.#jobs === 0) return undefined;
    let [deadline, bestEffort] = [0, 0];
    const ends = this.#ends.values();
    for (const [job, work] of this.#work.values().entries()) {
      if (ends[job]! > untilSeconds) continue;
      if (work > 0) deadline += work;
      else bestEffort -= work;
    }
    return {
      jobs: this.#jobs,
      missed: this.#missed,
      goodputSlotSeconds: { deadline, bestEffort },
      bestEffortJobs: this.#others,
      bestEffortCompleted: this.#othersCompleted,
      bestEffortSeconds: this.#othersCompleted === 0 ? null : this.#othersSeconds / this.#othersCompleted,
    };
  }
}

/**
 * Renders a table of runs with deadlines for a terminal, without a final newline; empty if there are none.
 */
export function renderDeadlines(runs: readonly Run[]): string {
  return runTable(
    COLUMNS,
    runs.flatMap(({ deadlines, ...run }) => (deadlines === undefined ? [] : [{ ...run, deadlines }])),
  );
}

const COLUMNS: Columns<Run & { readonly deadlines: DeadlineResults }> = [
  ['missed', ({ deadlines: { missed, jobs } }) => percent(missed / jobs)],
  ['of jobs', ({ deadlines }) => whole(deadlines.jobs)],
  [
    'goodput, h',
    ({ deadlines: { goodputSlotSeconds: goodput } }) => hours(goodput.deadline + goodput.bestEffort),
  ],
  ['best effort, h', ({ deadlines }) => hours(deadlines.goodputSlotSeconds.bestEffort)],
  ['best effort, mean', ({ deadlines }) => duration(deadlines.bestEffortSeconds)],
  ['preemptions', ({ planning }) => whole(planning?.counts.preemptions ?? null)],
  ['cycles', ({ planning }) => whole(planning?.counts.cycles ?? null)],
  [
    'p50 / p99 / max',
    ({ planning }) => {
      const cycle = planning?.cycleSeconds?.cycle;
      return cycle === undefined ? ABSENT : [cycle.p50, cycle.p99, cycle.max].map(duration).join(' / ');
    },
  ],
  ['without solver', ({ planning }) => whole(planning?.counts.greedy ?? null)],
];

function hours(seconds: number): string {
  return threeDigits(seconds / 3_600);
}
