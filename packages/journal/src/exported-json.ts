/**
 * JSON for journal exports. Values that JSON cannot hold become objects with this key: bytes, NaN, infinities, −0 and dates.
 * A key of a real object that could be mistaken for it gets another `$` in front.
 */
const MARK = '$goshawk';
const MARK_OR_ESCAPED = /^\$+goshawk$/;

/** Encodes a value of a journal record so that `restored` returns the same value. */
export function exportedJson(value: unknown): string {
  // A replacer makes JSON.stringify several times slower, and few records need one.
  return needsMarks(value) ? JSON.stringify(value, marked) : JSON.stringify(value);
}

/** The object contains an unknown mark. */
export class BadMarkError extends Error {
  override name = 'BadMarkError';
}

/**
 * Parses the output of `exportedJson`.
 *
 * @throws SyntaxError if the text is not JSON, BadMarkError
 */
export function parseExported(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // JSON may write any character of the key as an escape.
  const mayNeedIt = text.includes(MARK) || text.includes('\\u');
  return mayNeedIt ? restored(value) : value;
}

function needsMarks(value: unknown): boolean {
  if (typeof value === 'number') return markOfNumber(value) !== undefined;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(needsMarks);
  if (value instanceof Uint8Array || value instanceof Date) return true;
  return Object.entries(value).some(([key, each]) => MARK_OR_ESCAPED.test(key) || needsMarks(each));
}

/** Replacer of JSON.stringify; `this` has the value before its `toJSON` was called. */
function marked(this: Record<string, unknown>, key: string, json: unknown): unknown {
  const value = this[key];
  if (typeof value === 'number') {
    const mark = markOfNumber(value);
    return mark === undefined ? value : new Marked({ [MARK]: 'number', value: mark });
  }
  if (value instanceof Uint8Array)
    return new Marked({ [MARK]: 'bytes', base64: Buffer.from(value).toString('base64') });
  if (value instanceof Date) return new Marked({ [MARK]: 'date', ms: value.getTime() });
  if (typeof value !== 'object' || value === null || value instanceof Marked || Array.isArray(value))
    return json;
  if (!Object.keys(value).some((each) => MARK_OR_ESCAPED.test(each))) return json;
  return withKeys(value, (each) => (MARK_OR_ESCAPED.test(each) ? `$${each}` : each));
}

/** An object whose mark must not be escaped. */
class Marked {
  constructor(fields: Readonly<Record<string, unknown>>) {
    Object.assign(this, fields);
  }
}

function markOfNumber(value: number): string | undefined {
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? undefined : String(value);
}

const NUMBERS: Readonly<Record<string, number>> = {
  '-0': -0,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

function restored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(restored);
  if (Object.hasOwn(value, MARK)) return markedValue(value as Record<string, unknown>);
  const fields = withKeys(value, (key) => (MARK_OR_ESCAPED.test(key) ? key.slice(1) : key));
  for (const [key, each] of Object.entries(fields)) set(fields, key, restored(each));
  return fields;
}

function markedValue(object: Readonly<Record<string, unknown>>): unknown {
  const { [MARK]: kind, base64, value, ms } = object;
  if (kind === 'bytes' && typeof base64 === 'string' && isBase64(base64))
    return Buffer.from(base64, 'base64');
  if (kind === 'number' && typeof value === 'string' && Object.hasOwn(NUMBERS, value)) return NUMBERS[value];
  if (kind === 'date' && (ms === null || typeof ms === 'number')) return new Date(ms ?? Number.NaN);
  throw new BadMarkError(`has an unknown "${MARK}" value`);
}

function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

function withKeys(value: object, keyOf: (key: string) => string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) set(fields, keyOf(key), each);
  return fields;
}

/** Also sets `__proto__` as an ordinary key. */
function set(fields: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
}
