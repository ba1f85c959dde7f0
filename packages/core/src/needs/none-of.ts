import type { RequirementKind } from './requirement-kind.js';

/** `!r1` or `!r1,r2`: the worker has another value, or none. */
export const noneOf: RequirementKind = {
  recognizes: (text) => text.startsWith('!'),
  isMet: (text, value) => value === undefined || !text.slice(1).split(',').includes(value),
};
