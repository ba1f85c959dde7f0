import { type Millis, Random, type Segment } from '@goshawk/core';
import type { GangBelief } from '@goshawk/simulator';
import { NormalDraws } from '@goshawk/traces';

/** Equal parts of a distribution, as many as a histogram has bins. */
const PARTS = 80;
/** Standard deviation of how far estimates are off, beside what all of them are (3Sigma §6.3). */
const SHIFT_DEVIATION = 0.1;
/** Between the ends of a part that has none, in standard deviations. */
const OUTERMOST = 4;

/**
 * Run times that are believed to be normal, off by a share on the mean, and cut off at 0 (3Sigma §6.3, Fig. 9).
 *
 * @param spread standard deviation over the mean; 0: one number
 */
export function normalBelief({
  shift,
  spread,
  seed,
}: {
  readonly shift: number;
  readonly spread: number;
  readonly seed: number;
}): (job: number, runMs: Millis) => GangBelief {
  return (job, runMs) => {
    const draws = new NormalDraws(Random.seeded(seed).fork(`shift ${job}`));
    const estimateMs = Math.max(1, runMs * (1 + shift + SHIFT_DEVIATION * draws.next()));
    if (spread === 0) return { estimateMs };
    return { estimateMs, distribution: normalParts(estimateMs, spread * runMs) };
  };
}

/** Parts of equal chance of a normal distribution that is cut off at 0. */
export function normalParts(meanMs: Millis, deviationMs: Millis): Segment[] {
  const below = normalCdf(-meanMs / deviationMs);
  const at = (share: number) => meanMs + deviationMs * normalQuantile(below + share * (1 - below));
  return Array.from({ length: PARTS }, (_, part) => ({
    from: Math.max(0, at(part / PARTS)),
    to: at((part + 1) / PARTS),
    p: 1 / PARTS,
  }));
}

/** Abramowitz and Stegun 26.2.17; off by less than 1e-7. */
function normalCdf(x: number): number {
  const t = 1 / (1 + 0.231_641_9 * Math.abs(x));
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  const series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
  const tail = density * t * series.reduce((sum, each) => sum * t + each, 0);
  return x < 0 ? tail : 1 - tail;
}

function normalQuantile(share: number): number {
  let [low, high] = [-OUTERMOST, OUTERMOST];
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
