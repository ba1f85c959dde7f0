import { amountOf, jainIndex, meanOf, type Resources } from '@goshawk/core';
import { type Columns, runTable } from './columns.js';
import type { FairnessResults, IndexSpread, Run, StagedResults } from './comparison.js';
import { summarise } from './distribution.js';
import { type JobResult, UTILISATION_SNAPSHOT_SECONDS } from './job-result.js';
import { duration, percent, threeDigits } from './numbers.js';

/** What jobs have is looked at in windows of so many snapshots: of a minute, where these are taken every 100 s (Carbyne §5.1). */
const WINDOW_SNAPSHOTS = 0.6;

/** What jobs of stages and demands made of the cluster (Carbyne §5.1), from when their tasks ran. */
export class StageTally {
  readonly #capacity: Resources;
  readonly #windowSeconds: number;
  readonly #jobs: Held[] = [];
  readonly #usedSeconds: Record<string, number> = {};
  #until = 0;

  /**
   * @param capacity of all workers together, slots among it
   */
  constructor(capacity: Resources, snapshotSeconds = UTILISATION_SNAPSHOT_SECONDS) {
    this.#capacity = capacity;
    this.#windowSeconds = WINDOW_SNAPSHOTS * snapshotSeconds;
  }

  /** One that completed, and says what its stages are. Its tasks' times are copied. */
  add(job: StagedJob): void {
    const { submitSeconds, runtimeSeconds, stages, weight = 1, taskStartsSeconds, taskRunSeconds } = job;
    if (stages === undefined) return;
    const starts = Float64Array.from(taskStartsSeconds);
    const ends = starts.map((start, task) => start + taskRunSeconds[task]!);
    const endOf: number[] = [];
    let first = 0;
    const held = stages.map(({ tasks, after, demand }): HeldStage => {
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
        this.#usedSeconds[name] = (this.#usedSeconds[name] ?? 0) + ran * heldOf(demand, name);
      return { tasks, mayRun, shares: this.#sharesOf(demand) };
    });
    const endSeconds = submitSeconds + runtimeSeconds;
    this.#until = Math.max(this.#until, endSeconds);
    this.#jobs.push({ submitSeconds, endSeconds, weight, stages: held, starts, ends });
  }

  /** @returns undefined where no job has stages or demands */
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

  /** By index of a resource of the capacity. */
  #sharesOf(demand: Resources): readonly number[] {
    return Object.entries(this.#capacity).map(([name, amount]) => heldOf(demand, name) / amount);
  }

  #fairness(): FairnessResults {
    const weights = weightsOver(this.#jobs);
    const raw = new Windows();
    const byNeed = new Windows();
    for (const job of this.#jobs) {
      const present = new Map<number, Present>();
      for (const piece of piecesOf(job, weights, this.#windowSeconds)) add(present, job, piece);
      for (const [window, { haveSeconds, dueSeconds, seconds }] of present) {
        if (2 * seconds >= this.#windowSeconds) raw.add(window, haveSeconds / seconds);
        if (dueSeconds > 0) byNeed.add(window, Math.min(1, haveSeconds / dueSeconds));
      }
    }
    return { windowSeconds: this.#windowSeconds, raw: raw.read(), byNeed: byNeed.read() };
  }
}

type StagedJob = Pick<
  JobResult,
  'submitSeconds' | 'runtimeSeconds' | 'stages' | 'weight' | 'taskStartsSeconds' | 'taskRunSeconds'
>;

interface Held {
  readonly submitSeconds: number;
  readonly endSeconds: number;
  readonly weight: number;
  readonly stages: readonly HeldStage[];
  /** By task. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

interface HeldStage {
  readonly tasks: number;
  /** When all that comes before it had ended. */
  readonly mayRun: number;
  /** Of a task, by index of a resource. */
  readonly shares: readonly number[];
}

/** So many tasks more or less that run, and that run or may. */
interface Change {
  readonly at: number;
  readonly shares: readonly number[];
  readonly has: number;
  readonly needs: number;
}

/** In order of time. */
function changesOf({ stages, starts, ends }: Held): Change[] {
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

/** Between two changes. Dominant shares. */
interface Piece {
  readonly window: number;
  readonly seconds: number;
  readonly has: number;
  readonly needs: number;
  /** Of all jobs that are there. */
  readonly weights: number;
}

/** What a job had in a window, and what it could have had: share seconds. */
interface Present {
  haveSeconds: number;
  dueSeconds: number;
  seconds: number;
}

function add(
  present: Map<number, Present>,
  { weight }: Held,
  { window, seconds, has, needs, weights }: Piece,
): void {
  let of = present.get(window);
  if (of === undefined) {
    of = { haveSeconds: 0, dueSeconds: 0, seconds: 0 };
    present.set(window, of);
  }
  of.seconds += seconds;
  of.haveSeconds += (has / weight) * seconds;
  of.dueSeconds += (Math.min(weight / weights, needs) / weight) * seconds;
}

/** The life of a job in pieces in which nothing changes that its share depends on. */
function* piecesOf(job: Held, { from, placeOf }: Weights, windowSeconds: number): Generator<Piece> {
  const { submitSeconds, endSeconds, stages } = job;
  const changes = changesOf(job);
  const having = stages[0]!.shares.map(() => 0);
  const needing = [...having];
  let next = 0;
  let place = placeOf.get(submitSeconds)!;
  for (let at = submitSeconds; at < endSeconds; ) {
    for (; next < changes.length && changes[next]!.at <= at; next++) {
      const { shares, has, needs } = changes[next]!;
      for (let r = 0; r < shares.length; r++) {
        having[r]! += has * shares[r]!;
        needing[r]! += needs * shares[r]!;
      }
    }
    while (place + 1 < from.length && from[place + 1]!.at <= at) place++;
    const window = Math.floor(at / windowSeconds);
    const until = Math.min(
      endSeconds,
      changes[next]?.at ?? endSeconds,
      from[place + 1]?.at ?? endSeconds,
      Math.max((window + 1) * windowSeconds, at + windowSeconds * 1e-9),
    );
    const [has, needs] = [Math.max(0, ...having), Math.max(0, ...needing)];
    yield { window, seconds: until - at, has, needs, weights: from[place]!.weights };
    at = until;
  }
}

/** Sum of the weights of the jobs that are there, from each time on at which one comes or goes. */
interface Weights {
  readonly from: readonly { readonly at: number; readonly weights: number }[];
  /** By such a time. */
  readonly placeOf: ReadonlyMap<number, number>;
}

function weightsOver(jobs: readonly Held[]): Weights {
  const changes = jobs
    .flatMap(({ submitSeconds, endSeconds, weight }) => [
      { at: submitSeconds, by: weight },
      { at: endSeconds, by: -weight },
    ])
    .sort((one, other) => one.at - other.at);
  const from: { at: number; weights: number }[] = [];
  let sum = 0;
  for (const { at, by } of changes) {
    sum += by;
    if (from.at(-1)?.at === at) from.pop();
    from.push({ at, weights: sum });
  }
  return { from, placeOf: new Map(from.map(({ at }, place) => [at, place])) };
}

/** Jain's index of each window. */
class Windows {
  readonly #values = new Map<number, number[]>();

  add(window: number, value: number): void {
    const values = this.#values.get(window);
    if (values === undefined) this.#values.set(window, [value]);
    else values.push(value);
  }

  read(): IndexSpread | null {
    const indices = Array.from(this.#values.values(), jainIndex);
    if (indices.length === 0) return null;
    const min = indices.reduce((least, index) => Math.min(least, index));
    return { mean: meanOf(indices), min, windows: indices.length };
  }
}

/** A task holds one slot. */
function heldOf(demand: Resources, name: string): number {
  return name === 'slot' ? 1 : amountOf(demand, name);
}

/** Runs of jobs of stages as a person reads of them on a terminal; empty where there are none. Ends without a newline. */
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
