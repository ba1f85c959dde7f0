import type { Millis } from '@goshawk/core';
import type { Need } from './needs.js';

/**
 * When a job is late: a long one twice the run time of its tasks after it came, a short one half of it, and more the
 * larger it is, since all others wait for what it is given: a long job of as many tasks as there are slots after four
 * times that, and a short one of a fifth of them after one and a half times. Of a job that would fill the cluster many
 * times over only so much counts: the largest long one is late after twenty task times.
 *
 * @param slots of all workers, when it came
 */
export function lateFrom(
  { kind, cameAt, sizeMs, estimateMs }: Pick<Need, 'kind' | 'cameAt' | 'sizeMs' | 'estimateMs'>,
  slots: number,
): Millis {
  const share = estimateMs > 0 && slots > 0 ? Math.min(MOST_SHARE, sizeMs / estimateMs / slots) : 0;
  const { taskTimes, moreTimes } = kind === 'long' ? OF_LONG : OF_SHORT;
  return cameAt + estimateMs * (taskTimes + moreTimes * share * share);
}

/**
 * Says whose turn it is among long jobs: of so many matches one is a late job's, as far as any is late. The order by
 * remaining work is as good as the estimates, and where pilots tell, a large job's place may be wrong for as long as a
 * task of it runs.
 */
export class LateTurns {
  readonly #every: number;
  #sinceLate = 0;

  /** @param every 0: late jobs have no turns */
  constructor(every: number) {
    this.#every = every;
  }

  get isDue(): boolean {
    return this.#every > 0 && this.#sinceLate >= this.#every - 1;
  }

  /** @param late whether the long job that was matched was late */
  matched(late: boolean): void {
    if (late && this.isDue) this.#sinceLate = 0;
    else this.#sinceLate++;
  }
}

/** Tasks over slots, at most. */
const MOST_SHARE = 3;
const OF_LONG = { taskTimes: 2, moreTimes: 2 };
const OF_SHORT = { taskTimes: 0.5, moreTimes: 25 };
