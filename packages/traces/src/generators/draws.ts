import type { Random } from '../random.js';

/** Durations are given to the microsecond, as in the Google trace; it keeps written traces short. */
export function microseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6;
}

/** Submission times of a Poisson process that starts at 0, in seconds to the millisecond. */
export function poissonArrivals(random: Random, meanInterarrivalSeconds: number): () => number {
  let now = 0;
  return () => {
    const submitSeconds = Math.round(now * 1000) / 1000;
    now += random.exponential(meanInterarrivalSeconds);
    return submitSeconds;
  };
}

/**
 * Says for each of `total` jobs whether it is one of the `chosen` ones, as if they were drawn from an
 * urn: exactly `chosen` of them in the end, each place equally likely.
 */
export function urn(random: Random, total: number, chosen: number): () => boolean {
  let left = total;
  let chosenLeft = chosen;
  return () => {
    const picked = random.uniform() * left < chosenLeft;
    left--;
    if (picked) chosenLeft--;
    return picked;
  };
}
