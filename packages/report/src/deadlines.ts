import { Samples, sumOf } from '@goshawk/core';
import type { DeadlineResults, Run } from './comparison.js';
import type { JobResult } from './job-result.js';
import { ABSENT, duration, percent, threeDigits, whole } from './numbers.js';
import { textTable } from './terminal.js';

/** What became of jobs with deadlines and of the others beside them (3Sigma §5), job by job. */
export class DeadlineTally {
  #jobs = 0;
  #missed = 0;
  #others = 0;
  #othersCompleted = 0;
  #othersSeconds = 0;
  /** Of jobs that completed: when each ended, and the slot time of its tasks, negative without a deadline. */
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
   * @param untilSeconds the last submission: work of jobs that ended later is not counted, as they ran in a cluster that
   *   empties
   * @returns undefined where no job has a deadline
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

/** Runs with deadlines as a person reads of them on a terminal; empty where there are none. Ends without a newline. */
export function renderDeadlines(runs: readonly Run[]): string {
  const shown = runs.filter(({ deadlines }) => deadlines !== undefined);
  if (shown.length === 0) return '';
  const seeds = new Set(shown.map(({ seed }) => seed)).size;
  const head = [
    'policy',
    ...(seeds > 1 ? ['seed'] : []),
    'missed',
    'of jobs',
    'goodput, h',
    'best effort, h',
    'best effort, mean',
    'preemptions',
    'cycles',
    'p50 / p99 / max',
    'without solver',
  ];
  return textTable([head, ...shown.map((run) => row(run, seeds > 1))]);
}

function row({ policy, seed, deadlines, planning }: Run, hasSeeds: boolean): string[] {
  const { jobs, missed, goodputSlotSeconds: goodput, bestEffortSeconds } = deadlines!;
  const cycle = planning?.cycleSeconds?.cycle;
  const hours = (seconds: number) => threeDigits(seconds / 3_600);
  return [
    policy,
    ...(hasSeeds ? [`${seed}`] : []),
    percent(missed / jobs),
    whole(jobs),
    hours(goodput.deadline + goodput.bestEffort),
    hours(goodput.bestEffort),
    duration(bestEffortSeconds),
    whole(planning?.counts.preemptions ?? null),
    whole(planning?.counts.cycles ?? null),
    cycle === undefined ? ABSENT : [cycle.p50, cycle.p99, cycle.max].map(duration).join(' / '),
    whole(planning?.counts.greedy ?? null),
  ];
}
