/**
 * The kinds of claims in papers, each a function from measurements to a verdict. A number of the paper *holds* if
 * ours reaches it or is below it by at most `SHORTFALL`; an effect that is smaller but present holds *in direction*;
 * otherwise it does not hold. Words of the paper ("slightly", "significantly") get their bounds where a claim uses
 * them. A claim whose runs are missing is not judged.
 */
export * from './amounts.js';
export * from './comparisons.js';
export {
  at,
  between,
  from,
  judging,
  only,
  SAME,
  SHORTFALL,
  SLIGHT,
  said,
} from './places.js';
export * from './queues.js';
export * from './trends.js';
