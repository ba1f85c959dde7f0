import { amountOf, type Resources } from '@goshawk/core';
import { type Columns, runTable } from './columns.js';
import type { FairnessResults, IndexSpread, Run, StagedResults } from './comparison.js';
import { summarise } from './distribution.js';
import { type JobResult, UTILISATION_SNAPSHOT_SECONDS } from './job-result.js';
import { duration, percent, threeDigits } from './numbers.js';

/** Shares are averaged over windows of this many snapshots: one minute at 100 s each (Carbyne §5.1). */
const WINDOW_SNAPSHOTS = 0.6;

/** Resource use of jobs with stages and demands (Carbyne §5.1), derived from the run times of tasks. */
export class StageTally {
  readonly #capacity: Resources;
  readonly #windowSeconds: number;
  readonly #jobs: JobTimes[] = [];
  readonly #usedSeconds: Record<string, number> = {};
  #until = 0;

  /** @param capacity of all workers together, including slots */
  constructor(capacity: Resources, snapshotSeconds = UTILISATION_SNAPSHOT_SECONDS) {
    this.#capacity = capacity;
    this.#windowSeconds = WINDOW_SNAPSHOTS * snapshotSeconds;
  }

  /** Adds a completed job with stages. The times of its tasks are copied. */
  add(job: StagedJob): void {
    const { submitSeconds, runtimeSeconds, stages, weight = 1, taskStartsSeconds, taskRunSeconds } = job;
    if (stages === undefined) return;
    const starts = Float64Array.from(taskStartsSeconds);
    const ends = starts.map((start, task) => start + taskRunSeconds[task]!);
    const endOf: number[] = [];
    let first = 0;
    const times = stages.map(({ tasks, after, demand }): StageTimes => {
      const mayRun = after.reduce((latest, parent) => Math.max(latest, endOf[parent]!), submitSeconds);
      const upTo = first + tasks;
      let end = mayRun;
      let ran = 0;
      for (; first < upTo; first++) {
        end = Math.max(end, ends[first]!);
        ran += ends[first]! - starts[first]!;
      }
      endOf.push(end);
      for (const name in this.#capacity)
        this.#usedSeconds[name] = (this.#usedSeconds[name] ?? 0) + ran * amountUsed(demand, name);
      return { tasks, mayRun, shares: this.#sharesOf(demand) };
    });
    const endSeconds = submitSeconds + runtimeSeconds;
    this.#until = Math.max(this.#until, endSeconds);
    this.#jobs.push({ submitSeconds, endSeconds, weight, stages: times, starts, ends });
  }

  /** @returns undefined if no job has stages or demands */
  read(): StagedResults | undefined {
    if (this.#jobs.length === 0) return undefined;
    const makespanSeconds = this.#until;
    const dags = this.#jobs.filter(({ stages }) => stages.length > 1);
    const utilisation = Object.entries(this.#capacity).map(
      ([name, amount]) => [name, (this.#usedSeconds[name] ?? 0) / (amount * makespanSeconds)] as const,
    );
    return {
      jobs: this.#jobs.length,
      dagSeconds: summarise(dags.map(({ submitSeconds, endSeconds }) => endSeconds - submitSeconds)),
      makespanSeconds,
      utilisation: Object.fromEntries(utilisation),
      fairness: this.#fairness(),
    };
  }

  /** Returns shares by resource index. */
  #sharesOf(demand: Resources): readonly number[] {
    return Object.entries(this.#capacity).map(([name, amount]) => amountUsed(demand, name) / amount);
  }

  #fairness(): FairnessResults {
    // Very long runs have wider windows instead of more windows.
    const factor = Math.max(1, Math.ceil(this.#until / this.#windowSeconds / WINDOWS_MAX));
    const windowSeconds = factor * this.#windowSeconds;
    const weights = new Weights(this.#jobs);
    const count = Math.floor(this.#until / windowSeconds) + 1;
    const raw = new Windows(count);
    const byNeed = new Windows(count);
    for (const job of this.#jobs) {
      const { weight } = job;
      const partial = new Map<number, Present>();
      for (const { from, to, has, needs } of piecesOf(job)) {
        const first = Math.floor(from / windowSeconds);
        const last = Math.floor(to / windowSeconds);
        const add = (window: number, begin: number, end: number): void => {
          if (end <= begin) return;
          const present = partial.get(window) ?? { haveSeconds: 0, dueSeconds: 0, seconds: 0 };
          partial.set(window, present);
          present.seconds += end - begin;
          present.haveSeconds += (has / weight) * (end - begin);
          present.dueSeconds += weights.due(begin, end, needs / weight);
        };
        if (first === last) {
          add(first, from, to);
          continue;
        }
        add(first, from, (first + 1) * windowSeconds);
        add(last, last * windowSeconds, to);
        // The job does not change in these windows, so a waiting job costs the same regardless of the wait.
        raw.addAll(first + 1, last, has / weight);
        if (needs > 0 && has === 0) byNeed.addAll(first + 1, last, 0);
        if (needs === 0 || has === 0) continue;
        for (let window = first + 1; window < last; window++) {
          const due = weights.due(window * windowSeconds, (window + 1) * windowSeconds, needs / weight);
          byNeed.add(window, Math.min(1, ((has / weight) * windowSeconds) / due));
        }
      }
      for (const [window, { haveSeconds, dueSeconds, seconds }] of partial) {
        if (2 * seconds >= windowSeconds) raw.add(window, haveSeconds / seconds);
        if (dueSeconds > 0) byNeed.add(window, Math.min(1, haveSeconds / dueSeconds));
      }
    }
    return { windowSeconds, raw: raw.read(), byNeed: byNeed.read() };
  }
}

const WINDOWS_MAX = 1_000_000;

type StagedJob = Pick<
  JobResult,
  'submitSeconds' | 'runtimeSeconds' | 'stages' | 'weight' | 'taskStartsSeconds' | 'taskRunSeconds'
>;

interface JobTimes {
  readonly submitSeconds: number;
  readonly endSeconds: number;
  readonly weight: number;
  readonly stages: readonly StageTimes[];
  /** Start times by task. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

interface StageTimes {
  readonly tasks: number;
  /** Time when all preceding stages had ended. */
  readonly mayRun: number;
  /** Shares of a task by resource index. */
  readonly shares: readonly number[];
}

/** A change in the number of running tasks, and of tasks that run or may run. */
interface Change {
  readonly at: number;
  readonly shares: readonly number[];
  readonly has: number;
  readonly needs: number;
}

/** Returns the changes in order of time. */
function changesOf({ stages, starts, ends }: JobTimes): Change[] {
  const changes: Change[] = [];
  let task = 0;
  for (const { tasks, mayRun, shares } of stages) {
    for (const upTo = task + tasks; task < upTo; task++) {
      const at = starts[task]!;
      changes.push({ at: Math.min(mayRun, at), shares, has: 0, needs: 1 });
      changes.push({ at, shares, has: 1, needs: 0 });
      changes.push({ at: ends[task]!, shares, has: -1, needs: -1 });
    }
  }
  return changes.sort((one, other) => one.at - other.at);
}

/** The life of a job between two of its changes, with dominant shares. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly has: number;
  readonly needs: number;
}

/** Actual and possible share of a job in a window, in share seconds. */
interface Present {
  haveSeconds: number;
  dueSeconds: number;
  seconds: number;
}

function* piecesOf(job: JobTimes): Generator<Piece> {
  const { submitSeconds, endSeconds, stages } = job;
  const changes = changesOf(job);
  const having = stages[0]!.shares.map(() => 0);
  const needing = [...having];
  let next = 0;
  for (let from = submitSeconds; from < endSeconds; ) {
    for (; next < changes.length && changes[next]!.at <= from; next++) {
      const { shares, has, needs } = changes[next]!;
      for (let r = 0; r < shares.length; r++) {
        having[r]! += has * shares[r]!;
        needing[r]! += needs * shares[r]!;
      }
    }
    const to = Math.min(endSeconds, changes[next]?.at ?? endSeconds);
    yield { from, to, has: Math.max(0, ...having), needs: Math.max(0, ...needing) };
    from = to;
  }
}

/** Sum of the weights of the present jobs over time. */
class Weights {
  /** Times of changes, and the sums from then on. */
  readonly #at: Float64Array;
  readonly #sums: Float64Array;
  /** Integral of the inverse sum up to each change. */
  readonly #inverse: Float64Array;
  /** Least and greatest sum of each node of a tree over the changes, by depth. */
  readonly #least: Float64Array[] = [];
  readonly #greatest: Float64Array[] = [];

  constructor(jobs: readonly JobTimes[]) {
    const changes = jobs
      .flatMap(({ submitSeconds, endSeconds, weight }) => [
        { at: submitSeconds, by: weight },
        { at: endSeconds, by: -weight },
      ])
      .sort((one, other) => one.at - other.at);
    const at: number[] = [];
    const sums: number[] = [];
    let sum = 0;
    for (const change of changes) {
      sum += change.by;
      if (at.at(-1) === change.at) sums[sums.length - 1] = sum;
      else {
        at.push(change.at);
        sums.push(sum);
      }
    }
    this.#at = Float64Array.from(at);
    this.#sums = Float64Array.from(sums);
    this.#inverse = new Float64Array(at.length);
    for (let i = 1; i < at.length; i++)
      this.#inverse[i] =
        this.#inverse[i - 1]! + (sums[i - 1]! > 0 ? (at[i]! - at[i - 1]!) / sums[i - 1]! : 0);
    this.#least.push(this.#sums);
    this.#greatest.push(this.#sums);
    for (let width = at.length; width > 1; width = Math.ceil(width / 2)) {
      const [least, greatest] = [this.#least.at(-1)!, this.#greatest.at(-1)!];
      const parents = Math.ceil(width / 2);
      const either = (of: Float64Array, choose: (one: number, other: number) => number): Float64Array =>
        Float64Array.from({ length: parents }, (_, i) => choose(of[2 * i]!, of[2 * i + 1] ?? of[2 * i]!));
      this.#least.push(either(least, Math.min));
      this.#greatest.push(either(greatest, Math.max));
    }
  }

  /**
   * Integrates the share due per weight of 1, or `needs` if that is less, over a time with at least one job.
   */
  due(from: number, to: number, needs: number): number {
    if (needs === 0) return 0;
    const first = this.#placeOf(from);
    const last = this.#placeOf(to);
    const share = (place: number): number => Math.min(1 / this.#sums[place]!, needs);
    if (first === last) return (to - from) * share(first);
    return (
      (this.#at[first + 1]! - from) * share(first) +
      this.#between(first + 1, last, needs) +
      (to > this.#at[last]! ? (to - this.#at[last]!) * share(last) : 0)
    );
  }

  /** Returns the change that applies at a time. */
  #placeOf(time: number): number {
    let [low, high] = [0, this.#at.length];
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.#at[middle]! <= time) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Integrates between two changes, in ranges in which either the share or the need is always the lesser. */
  #between(from: number, to: number, needs: number): number {
    let sum = 0;
    for (let at = from; at < to; ) {
      let depth = 0;
      let is = this.#lesser(0, at, needs);
      // Take the widest aligned range before the end in which the same value is the lesser one.
      while ((at >> depth) % 2 === 0 && at + 2 ** (depth + 1) <= to) {
        const wider = this.#lesser(depth + 1, at >> (depth + 1), needs);
        if (wider === undefined) break;
        is = wider;
        depth++;
      }
      const end = at + 2 ** depth;
      sum +=
        is === 'need' ? needs * (this.#at[end]! - this.#at[at]!) : this.#inverse[end]! - this.#inverse[at]!;
      at = end;
    }
    return sum;
  }

  #lesser(depth: number, node: number, needs: number): 'need' | 'share' | undefined {
    if (this.#least[depth]![node]! * needs >= 1) return 'share';
    return this.#greatest[depth]![node]! * needs <= 1 ? 'need' : undefined;
  }
}

/** Computes Jain's index of each window from sums. A value that many windows share is added at once. */
class Windows {
  readonly #counts: Float64Array;
  /** Number of positive values: sums may leave a rounding error. */
  readonly #positive: Float64Array;
  readonly #sums: Float64Array;
  readonly #squares: Float64Array;
  /** Differences of the same sums at the first and after the last window of each range. */
  readonly #from: readonly Float64Array[];

  constructor(count: number) {
    const column = (): Float64Array => new Float64Array(count + 1);
    [this.#counts, this.#positive, this.#sums, this.#squares] = [column(), column(), column(), column()];
    this.#from = [column(), column(), column(), column()];
  }

  add(window: number, value: number): void {
    this.#counts[window]!++;
    if (value > 0) this.#positive[window]!++;
    this.#sums[window]! += value;
    this.#squares[window]! += value * value;
  }

  /**
   * Adds a value to the windows from `from` up to `to`, exclusively.
   *
   */
  addAll(from: number, to: number, value: number): void {
    if (to <= from) return;
    for (const [i, each] of [1, value > 0 ? 1 : 0, value, value * value].entries()) {
      this.#from[i]![from]! += each;
      this.#from[i]![to]! -= each;
    }
  }

  read(): IndexSpread | null {
    const run = [0, 0, 0, 0];
    let [windows, total, min] = [0, 0, Number.POSITIVE_INFINITY];
    for (let window = 0; window < this.#counts.length; window++) {
      for (let i = 0; i < run.length; i++) run[i]! += this.#from[i]![window]!;
      const count = this.#counts[window]! + run[0]!;
      if (count === 0) continue;
      const positive = this.#positive[window]! + run[1]!;
      const sum = this.#sums[window]! + run[2]!;
      const squares = this.#squares[window]! + run[3]!;
      // All jobs are equal if none has a share.
      const index = positive === 0 ? 1 : Math.min(1, (sum * sum) / (count * squares));
      windows++;
      total += index;
      min = Math.min(min, index);
    }
    return windows === 0 ? null : { mean: total / windows, min, windows };
  }
}

/** Returns the amount of a resource that a task uses; a task uses one slot. */
function amountUsed(demand: Resources, name: string): number {
  return name === 'slot' ? 1 : amountOf(demand, name);
}

/**
 * Renders a table of runs with staged jobs for a terminal, without a final newline; empty if there are none.
 */
export function renderStages(runs: readonly Run[]): string {
  return runTable(
    COLUMNS,
    runs.flatMap(({ policy, seed, staged }) => (staged === undefined ? [] : [{ policy, seed, ...staged }])),
  );
}

const COLUMNS: Columns<StagedResults & Pick<Run, 'policy' | 'seed'>> = [
  ['jobs of stages, mean', ({ dagSeconds }) => duration(dagSeconds.mean)],
  ['p90', ({ dagSeconds }) => duration(dagSeconds.p90)],
  ['makespan', ({ makespanSeconds }) => duration(makespanSeconds)],
  ['Jain', ({ fairness }) => threeDigits(fairness.raw?.mean ?? null)],
  ['by need', ({ fairness }) => threeDigits(fairness.byNeed?.mean ?? null)],
  ['slower than drf', ({ againstDrf }) => percent(againstDrf?.slower ?? null)],
  ['by a quarter', ({ againstDrf }) => percent(againstDrf?.muchSlower ?? null)],
];
