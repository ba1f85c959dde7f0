import type { Millis } from '../ids.js';

/**
 * Probability `p`, uniform between `from` and `to` (ms), or an atom if they are equal. Segments are in
 * ascending order.
 */
export interface Segment {
  readonly from: Millis;
  readonly to: Millis;
  readonly p: number;
}
