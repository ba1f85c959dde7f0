import type { Millis } from './ids.js';

/** Probability `p`, spread evenly from `from` to `to` (ms); an atom where they are equal. In order of time. */
export interface Segment {
  readonly from: Millis;
  readonly to: Millis;
  readonly p: number;
}
