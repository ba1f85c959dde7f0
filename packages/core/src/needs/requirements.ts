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

const SPREAD = 'spread:';

/** `spread:2`: the worker has the attribute, and at most two tasks of the job run at workers with its value. */
const spread: RequirementKind = {
  recognizes: (text) => text.startsWith(SPREAD),
  // Who starts tasks counts those of the job; see `Needs.spread`.
  isMet: (_, value) => value !== undefined,
};

/** All kinds, in order of recognition; the last recognizes every text. */
const KINDS: readonly RequirementKind[] = [noneOf, spread, anyOf];

/** The number of tasks in a requirement to spread them; undefined: another requirement. NaN: not a number from 1 */
export function spreadIn(text: string): number | undefined {
  if (!spread.recognizes(text)) return undefined;
  const most = text.slice(SPREAD.length);
  return /^[1-9]\d{0,5}$/.test(most) ? Number(most) : Number.NaN;
}

/** Text of the requirement that at most this many tasks run at workers with the same value. */
export function spreadOver(most: number): string {
  return `${SPREAD}${most}`;
}

/** Whether a worker whose attribute has this value meets the requirement. */
export function isMet(text: string, value: string | undefined): boolean {
  for (const kind of KINDS) if (kind.recognizes(text)) return kind.isMet(text, value);
  return false;
}
