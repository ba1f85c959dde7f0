/** A kind of requirement on the value of a worker's attribute, recognized by its text. */
interface RequirementKind {
  /** Whether the text is a requirement of this kind. */
  recognizes(text: string): boolean;
  /** @param value undefined: the worker does not have the attribute */
  isMet(text: string, value: string | undefined): boolean;
}

/** `r1` or `r1,r2`: the value is one of these. */
const anyOf: RequirementKind = {
  recognizes: () => true,
  // Called for every worker; most requirements name a single value, which needs no split.
  isMet: (text, value) =>
    value !== undefined && (text.includes(',') ? text.split(',').includes(value) : text === value),
};

/** `!r1` or `!r1,r2`: the worker has another value, or none. */
const noneOf: RequirementKind = {
  recognizes: (text) => text.startsWith('!'),
  isMet: (text, value) => value === undefined || !text.slice(1).split(',').includes(value),
};

/** All kinds, in order of recognition; the last recognizes every text. */
const KINDS: readonly RequirementKind[] = [noneOf, anyOf];

/** Whether a worker whose attribute has this value meets the requirement. */
export function isMet(text: string, value: string | undefined): boolean {
  for (const kind of KINDS) if (kind.recognizes(text)) return kind.isMet(text, value);
  return false;
}
