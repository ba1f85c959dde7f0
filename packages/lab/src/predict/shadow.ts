import type { Millis } from '@goshawk/core';
import { type EstimatorScore, Scoreboard } from '@goshawk/predictor';
import type { SimulatedEnd, SimulatedJob } from '@goshawk/simulator';
import type { TraceJob } from '@goshawk/traces';
import { arrivingJobOf } from '@goshawk/traces';
import type { RunRequest } from '../simulate/request.js';

/**
 * The scoreboard that a run was asked for; undefined for none.
 *
 * @param learnt before the run, by estimator
 */
export function shadowFor(
  { shadow = [], policy, seed }: Pick<RunRequest, 'shadow' | 'policy' | 'seed'>,
  estimatorStates: Readonly<Record<string, unknown>>,
): SimulatedShadow | undefined {
  if (shadow.length === 0) return undefined;
  return new SimulatedShadow(new Scoreboard(shadow, policy, seed, estimatorStates));
}

/**
 * The scoreboard of a simulation. That hands jobs out some time after they have ended; here they are put back in order,
 * so that nobody learns anything too early or too late.
 */
export class SimulatedShadow {
  readonly #board: Scoreboard;
  readonly #arrived: { readonly at: Millis; readonly index: number; readonly job: TraceJob }[] = [];
  #ended: SimulatedEnd[] = [];

  constructor(board: Scoreboard) {
    this.#board = board;
  }

  /** Jobs arrive in order. */
  arrived(index: number, job: TraceJob, at: Millis): void {
    this.#arrived.push({ at, index, job });
  }

  ended(ends: readonly SimulatedEnd<SimulatedJob>[]): void {
    this.#ended.push(...ends);
  }

  /** All that ended by now has been reported. */
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

  /** Those that arrived by then, from a place on. @returns the place of the first that did not */
  #arrive(from: number, until: Millis): number {
    let place = from;
    for (; place < this.#arrived.length && this.#arrived[place]!.at <= until; place++) {
      const { index, job, at } = this.#arrived[place]!;
      this.#board.arrived(index, arrivingJobOf(job, at));
    }
    return place;
  }
}
