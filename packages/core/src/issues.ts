import type { z } from 'zod';

/**
 * Parses a value. Errors include what was given, which only a second parse reports, because reporting makes
 * every parse about twice as slow.
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const result = schema.safeParse(value);
  return result.success ? result : schema.safeParse(value, { reportInput: true });
}

/**
 * Describes the first problem, with its path: `stages[1].tasks[0]: unknown field "slep"`.
 *
 * @param unknown describes keys that the schema does not have
 */
export function firstIssue(
  error: Pick<z.ZodError, 'issues'>,
  unknown: (keys: readonly string[], path: readonly PropertyKey[]) => string = unknownKeys,
): string {
  let issue = error.issues[0]!;
  const path = [...issue.path];
  // A union reports every branch; the branch that matched furthest is the intended one.
  while (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branches = issue.errors.filter((branch) => branch.length > 0);
    if (branches.length === 0) break;
    const deepest = branches.reduce((a, b) => (branchDepth(b) > branchDepth(a) ? b : a));
    if (branchDepth(deepest) === 0) break;
    issue = deepest[0]!;
    path.push(...issue.path);
  }
  // The key is part of the path.
  if (issue.code === 'invalid_key' && issue.issues[0] !== undefined) issue = issue.issues[0];
  const where = path.reduce<string>(
    (text, part) =>
      typeof part === 'number'
        ? `${text}[${part}]`
        : text === ''
          ? shown(String(part))
          : `${text}.${shown(String(part))}`,
    '',
  );
  const what = issue.code === 'unrecognized_keys' ? unknown(issue.keys, path) : describeValue(issue);
  return where === '' ? what : `${where}: ${what}`;
}

/** Says what was expected, and the value if it is short: `expected whole number, not 1.5`. */
function describeValue(issue: z.core.$ZodIssue): string {
  const expected = inWords(issue.code === 'invalid_union' ? expectedByUnion(issue) : issue.message);
  const value = valueText(issue);
  if (value === undefined || issue.code === 'custom' || !expected.startsWith('expected ')) return expected;
  return `${expected.replace(/, received .*$/, '')}, not ${value}`;
}

/** Lists the types that the branches of a union accept, unless the schema has a message. */
function expectedByUnion({ message, errors }: z.core.$ZodIssueInvalidUnion): string {
  if (message !== 'Invalid input') return message;
  const types = errors.flatMap(([issue]) =>
    issue === undefined
      ? []
      : [/expected (.*?)(?:, received .*)?$/.exec(issue.message)?.[1] ?? issue.message],
  );
  return types.length === 0 ? message : `expected ${[...new Set(types)].join(' or ')}`;
}

/** Longer values are not shown. */
const VALUE_SHOWN = 40;

/** Returns undefined for a long value, a composite one whose type is right, and one that is not reported. */
function valueText({ code, input }: z.core.$ZodIssue): string | undefined {
  if (typeof input === 'number' || typeof input === 'boolean' || input === null) return String(input);
  if (typeof input === 'string') return input.length <= VALUE_SHOWN ? JSON.stringify(input) : undefined;
  if (typeof input !== 'object' || (code !== 'invalid_type' && code !== 'invalid_union')) return undefined;
  return Array.isArray(input) ? 'a list' : 'an object';
}

/** Rephrases messages such as `Too small: expected number to be >=0`. */
function inWords(message: string): string {
  return message
    .replace(/^(Invalid (input|option)|Too (small|big)): /, '')
    .replace(/^expected int\b/, 'expected whole number')
    .replace(/^expected record\b/, 'expected object')
    .replace(/ to (have|be) >=/, ' of at least ')
    .replace(/ to (have|be) <=/, ' of at most ')
    .replace(/ to be ([<>])/, ' $1 ')
    .replaceAll('"|"', '", "');
}

/** Limits on unknown fields, and on the length of a name, in error messages. */
const KEYS_SHOWN = 5;
const KEY_SHOWN = 80;

/** Shortens a name in an error message. */
export function shown(key: string): string {
  return key.length > KEY_SHOWN ? `${key.slice(0, KEY_SHOWN)}…` : key;
}

/** Names the unknown fields, up to a limit. */
export function unknownKeys(keys: readonly string[]): string {
  const some = keys.slice(0, KEYS_SHOWN).map(shown);
  const more = keys.length > some.length ? ` and ${keys.length - some.length} more` : '';
  return `unknown field ${some.map((key) => JSON.stringify(key)).join(', ')}${more}`;
}

/**
 * How deep a branch of a union matched: 0 for a wrong type at its top, more for a problem within its fields.
 */
function branchDepth(branch: readonly z.core.$ZodIssue[]): number {
  const issue = branch[0]!;
  if (issue.code === 'unrecognized_keys') return branch.length === 1 ? 2 : 0.5;
  if (issue.path.length === 0) return 0;
  return branch.some(isMissing) ? 0 : issue.path.length + 1;
}

/** A missing field of the branch itself suggests that another branch was meant. */
function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length !== 1) return false;
  if (issue.code === 'invalid_union') return issue.errors.flat().every(isUndefined);
  return isUndefined(issue);
}

function isUndefined({ code, message }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' && message.endsWith('received undefined');
}
