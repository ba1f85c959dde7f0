import type { Millis, StartWait } from '@goshawk/core';

/** Maximum numbers of earlier waits that a group keeps, and that one prediction uses. */
const WAITS_KEPT_MAX = 2_048;
const WAITS_COMPARED_MAX = 1_024;
/** Minimum number of waits for a prediction. With fewer of one kind, waits of all kinds are used. */
const WAITS_MIN = 10;
const ALL_KINDS = 'all';
/** Maximum number of open samples of one waiting stage. */
const OPEN_SAMPLES_MAX = 64;
/** Offset that lets a basis of 0 be compared with others. */
const OFFSET_MS = 100;
/** Added to the largest distance in log(basis), so that the farthest wait still has a positive weight. */
const DISTANCE_OFFSET = 0.001;

interface Sample {
  readonly takenAt: Millis;
  readonly basis: WaitBasis;
  /** The duration that the sample represents. */
  representsMs: Millis;
}

interface OpenSamples {
  samples: Sample[];
  /** Samples closer together than this are merged. */
  intervalMs: Millis;
}

/** Properties of a wait by which it is compared with others. */
export interface WaitBasis {
  /** Kind of the wait. If too few waits of this kind are known, those of other kinds are used, too. */
  readonly kind: string;
  /** Wait in ms computed from the estimated work ahead; 0 if the stage is next, or nothing is known. */
  readonly basisMs: Millis;
}

/**
 * Predicts when waiting stages start. It uses the earlier waits that are nearest in log(basis), weighted by proximity, and
 * computes the quantiles 0.1, 0.5 and 0.9 of wait ÷ basis, or of the wait if the basis is 0. Each sample
 * is also weighted by the time that it represents. Otherwise busy times and short waits would count too much.
 */
export class StartTimes<Stage extends object> {
  readonly #groups = new Map<string, Group>();
  readonly #open = new WeakMap<Stage, OpenSamples>();

  /**
   * Starts a sample of a waiting stage. The stage's next start completes it.
   *
   * @param forMs time since the last sample of any stage, or since the last turn in which none waited, if that is later
   */
  sample(stage: Stage, basis: WaitBasis, forMs: Millis, now: Millis): void {
    const open = this.#open.get(stage) ?? { samples: [], intervalMs: 0 };
    this.#open.set(stage, open);
    const last = open.samples.at(-1);
    if (last === undefined || now - last.takenAt >= open.intervalMs)
      open.samples.push({ takenAt: now, basis, representsMs: forMs + 1 });
    else last.representsMs += forMs + 1;
    if (open.samples.length < OPEN_SAMPLES_MAX) return;
    // Reduces the sampling rate, so that a long wait keeps samples from its whole duration.
    open.intervalMs = (2 * (now - open.samples[0]!.takenAt)) / OPEN_SAMPLES_MAX;
    open.samples = mergePairs(open.samples);
  }

  started(stage: Stage, now: Millis): void {
    const open = this.#open.get(stage);
    if (open === undefined) return;
    this.#open.delete(stage);
    for (const { basis, takenAt, representsMs } of open.samples) {
      for (const key of keysOf(basis)) {
        const group = this.#groups.get(key) ?? new Group();
        this.#groups.set(key, group);
        group.add(basis.basisMs, (now - takenAt) / scaleOf(basis), representsMs);
      }
    }
  }

  /** Predicts a wait; undefined if too few waits are known. */
  predict(basis: WaitBasis): StartWait | undefined {
    const groups = keysOf(basis).map((key) => this.#groups.get(key));
    const group = groups.find((known) => known !== undefined && known.size >= WAITS_MIN);
    if (group === undefined) return undefined;
    const scale = scaleOf(basis);
    const { quantiles, waits } = group.nearest(basis.basisMs, [0.1, 0.5, 0.9]);
    const [p10, p50, p90] = quantiles.map((ratio) => scale * ratio) as [Millis, Millis, Millis];
    return { p10, p50, p90, waits };
  }
}

/** Drops every other sample, and adds its duration to the sample before it. */
function mergePairs(samples: readonly Sample[]): Sample[] {
  const kept = samples.filter((_, at) => at % 2 === 0);
  kept.forEach((sample, at) => {
    sample.representsMs += samples[2 * at + 1]?.representsMs ?? 0;
  });
  return kept;
}

/** Returns the groups of a wait, most specific first. */
function keysOf({ kind, basisMs }: WaitBasis): string[] {
  return [kind, ALL_KINDS].map((known) => (basisMs > 0 ? `${known} behind others` : known));
}

function scaleOf({ basisMs }: WaitBasis): number {
  return basisMs > 0 ? basisMs + OFFSET_MS : 1;
}

/** The latest waits of one kind, or of all. */
class Group {
  readonly #bases: number[] = [];
  readonly #ratios: number[] = [];
  readonly #weights: number[] = [];
  #next = 0;

  get size(): number {
    return this.#ratios.length;
  }

  add(basisMs: Millis, ratio: number, weight: number): void {
    this.#bases[this.#next] = Math.log(basisMs + OFFSET_MS);
    this.#ratios[this.#next] = ratio;
    this.#weights[this.#next] = weight;
    this.#next = (this.#next + 1) % WAITS_KEPT_MAX;
  }

  /**
   * Returns quantiles of the ratios of the waits whose basis is nearest to `basisMs`, and the number of these waits.
   *
   * @param shares which quantiles, as fractions in ascending order
   */
  nearest(basisMs: Millis, shares: readonly number[]): { quantiles: number[]; waits: number } {
    const from = Math.log(basisMs + OFFSET_MS);
    const distances = this.#bases.map((basis) => Math.abs(basis - from));
    const nearest = [...distances.keys()]
      .sort((a, b) => distances[a]! - distances[b]!)
      .slice(0, WAITS_COMPARED_MAX);
    const reach = distances[nearest.at(-1)!]! + DISTANCE_OFFSET;
    const weightOf = (at: number): number => this.#weights[at]! * (1 - distances[at]! / reach);
    const total = nearest.reduce((sum, at) => sum + weightOf(at), 0);
    const quantiles: number[] = [];
    let weight = 0;
    for (const at of nearest.sort((a, b) => this.#ratios[a]! - this.#ratios[b]!)) {
      weight += weightOf(at);
      // The factor allows for rounding errors in the two sums.
      while (weight >= shares[quantiles.length]! * total * (1 - 1e-9)) quantiles.push(this.#ratios[at]!);
    }
    return { quantiles, waits: nearest.length };
  }
}
