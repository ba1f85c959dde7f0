import type { RequirementKind } from './requirement-kind.js';

/** `r1` or `r1,r2`: the value is one of these. */
export const anyOf: RequirementKind = {
  recognizes: () => true,
  // Called for every worker; most requirements name a single value, which needs no split.
  isMet: (text, value) =>
    value !== undefined && (text.includes(',') ? text.split(',').includes(value) : text === value),
};
