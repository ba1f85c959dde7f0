import { grown } from '@goshawk/core';
import type { DeadlineResults, Run } from './comparison.js';
import type { JobResult } from './job-result.js';
import { ABSENT, duration, percent, threeDigits, whole } from './numbers.js';
import { bare } from './text-table.js';

const INITIAL_JOBS = 256;
/** Of a job: when it ended, and the slot time of its tasks, negative without a deadline. */
const COLUMNS = 2;

/** What became of jobs with deadlines and of the others beside them (3Sigma §5), job by job. */
export class DeadlineTally {
  #jobs = 0;
  #missed = 0;
  #others = 0;
  #othersCompleted = 0;
  #othersSeconds = 0;
  #completed = 0;
  #ends = new Float64Array(COLUMNS * INITIAL_JOBS);

  add({ deadlineSeconds, outcome, submitSeconds, runtimeSeconds, taskRunSeconds }: JobResult): void {
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
    let work = 0;
    for (let task = 0; task < taskRunSeconds.length; task++) work += taskRunSeconds[task]!;
    const at = COLUMNS * this.#completed++;
    if (at === this.#ends.length) this.#ends = grown(this.#ends, at + COLUMNS);
    this.#ends[at] = submitSeconds + runtimeSeconds;
    this.#ends[at + 1] = hasDeadline ? work : -work;
  }

  /**
   * @param untilSeconds the last submission: work of jobs that ended later is not counted, as they ran in a cluster that
   *   empties
   * @returns undefined where no job has a deadline
   */
  read(untilSeconds: number): DeadlineResults | undefined {
    if (this.#jobs === 0) return undefined;
    let [deadline, bestEffort] = [0, 0];
    for (let job = 0; job < this.#completed; job++) {
      if (this.#ends[COLUMNS * job]! > untilSeconds) continue;
      const work = this.#ends[COLUMNS * job + 1]!;
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
  return bare([head, ...shown.map((run) => row(run, seeds > 1))]);
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
