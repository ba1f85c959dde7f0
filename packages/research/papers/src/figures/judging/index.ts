/**
 * The kinds of claims in papers, each a function from measurements to a verdict. A number *holds* if it is near the
 * paper's, on either side; an effect of another size in the same direction holds *in direction*. A tie is *not confirmed*.
 * Each claim states the bounds of words such as "slightly". A claim without runs is not judged.
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
} from './places.js';
export * from './queues.js';
export * from './trends.js';
