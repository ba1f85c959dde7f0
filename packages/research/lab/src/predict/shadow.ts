import type { Millis } from '@goshawk/core';
import { type EstimatorScore, Scoreboard } from '@goshawk/predictor';
import { estimatorFailed, type SimulatedEnd, type SimulatedJob } from '@goshawk/simulator';
import type { TraceJob } from '@goshawk/traces';
import { arrivingJobOf } from '@goshawk/traces';
import type { RunRequest } from '../simulate/request.js';

/**
 * Returns the scoreboard that a run requests, if any.
 *
 * @param estimatorStates learned before the run, by estimator
 */
export function shadowFor(
  { shadow = [], policy, seed }: Pick<RunRequest, 'shadow' | 'policy' | 'seed'>,
  estimatorStates: Readonly<Record<string, unknown>>,
): SimulatedShadow | undefined {
  if (shadow.length === 0) return undefined;
  return new SimulatedShadow(new Scoreboard(shadow, policy, seed, estimatorStates, estimatorFailed));
}

/**
 * The scoreboard of a simulation. The simulation reports jobs some time after they ended, so their order is
 * restored here and estimators learn at the right time.
 */
export class SimulatedShadow {
  readonly #board: Scoreboard;
  readonly #arrived: { readonly at: Millis; readonly index: number; readonly job: TraceJob }[] = [];
  #ended: SimulatedEnd[] = [];

  constructor(board: Scoreboard) {
    this.#board = board;
  }

  /** Records an arrival; jobs arrive in order. */
  arrived(index: number, job: TraceJob, at: Millis): void {
    this.#arrived.push({ at, index, job });
  }

  ended(ends: readonly SimulatedEnd<SimulatedJob>[]): void {
    this.#ended.push(...ends);
  }

  /** Handles all events until `now`; all ends until then must have been reported. */
  advance(now: Millis): void {
    const due = this.#ended.filter(({ endedMs }) => endedMs <= now).sort((a, b) => a.endedMs - b.endedMs);
    if (due.length > 0) this.#ended = this.#ended.filter(({ endedMs }) => endedMs > now);
    let next = 0;
    for (const end of due) {
      next = this.#arrive(next, end.endedMs);
      const { index, completed, endedMs, job, startsMs, runsMs } = end;
      this.#board.ended(index, {
        completed,
        runtimeMs: endedMs - job.submitMs,
        runsMs: completed ? runsMs : runsMs.filter((_, task) => startsMs[task]! >= 0),
      });
    }
    this.#arrived.splice(0, this.#arrive(next, now));
  }

  results(): EstimatorScore[] {
    this.advance(Number.POSITIVE_INFINITY);
    return this.#board.results();
  }

  /** Handles arrivals until then, starting at a position. @returns the position of the first later one */
  #arrive(from: number, until: Millis): number {
    let place = from;
    for (; place < this.#arrived.length && this.#arrived[place]!.at <= until; place++) {
      const { index, job, at } = this.#arrived[place]!;
      this.#board.arrived(index, arrivingJobOf(job, at));
    }
    return place;
  }
}
