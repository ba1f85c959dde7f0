/**
 * The kinds of claims in papers, each a function from measurements to a verdict. A number *holds* if ours
 * reaches the paper's or is below it by at most `SHORTFALL`. A smaller effect in the same direction holds *in
 * direction*. Each claim sets the bounds of words such as "slightly". A claim without runs is not judged.
 */
export * from './amounts.js';
export * from './comparisons.js';
export {
  at,
  between,
  from,
  judgeMeasured,
  judgement,
  only,
  SAME,
  SHORTFALL,
  SLIGHT,
} from './places.js';
export * from './queues.js';
export * from './trends.js';
