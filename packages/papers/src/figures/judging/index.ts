/**
 * The kinds of claims that papers make of a figure, each a function from what was measured to a verdict.
 * One rule for all: a number of the paper *holds* where ours reaches it or falls short of it by no more than
 * `SHORTFALL`; what ours does less of, but does, holds *in direction*; else it does not hold. Words of the
 * paper ("slightly", "significantly") get their bounds where a claim uses them. Where the runs that a claim is
 * about were not made, it is not judged.
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
