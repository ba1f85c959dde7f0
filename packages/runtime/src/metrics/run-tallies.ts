import { type ByClass, byClass, Histogram, type Millis, OUTCOMES, type OutcomeKind } from '@goshawk/core';

/** Bounds of run times in ms, from empty tasks to tasks of a day. */
const RUN_BOUNDS_MS = [
  1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 300_000, 1_800_000, 7_200_000, 86_400_000,
];

/** Outcomes and run times of the runs of all workers in a process. */
export class RunTallies {
  readonly ended: ByClass<Record<OutcomeKind, number>> = byClass(
    () => Object.fromEntries(OUTCOMES.map((kind) => [kind, 0])) as Record<OutcomeKind, number>,
  );
  readonly runMs: ByClass<Histogram> = byClass(() => new Histogram(RUN_BOUNDS_MS));

  /** @param long whether the job was classified as long at its start */
  runEnded(long: boolean, kind: OutcomeKind, runMs: Millis): void {
    const jobClass = long ? 'long' : 'short';
    this.ended[jobClass][kind]++;
    this.runMs[jobClass].add(runMs);
  }
}
