/**
 * Open values are payloads, results and answers, which the protocol transfers without interpreting them. They consist
 * of JSON values and byte arrays. Dates, maps, class instances and functions are rejected, because encoding would
 * change them. The key `__proto__` is rejected, too. `undefined` is handled as in JSON: omitted from an object,
 * `null` in a list.
 */
import { Mismatch, mismatch, rethrowWithPath } from './errors.js';

/**
 * Maximum nesting of lists and objects, which also detects cycles. It leaves room for the message around the value
 * within the mailbox's `nestingMax`.
 */
export const OPEN_DEPTH_MAX = 24;
/** Maximum number of values and keys in one open value, within the mailbox's limit for a frame. */
export const OPEN_NODES_MAX = 900_000;

/**
 * Returns why and where a value is not serializable; `undefined` if it is. Numbers and text that would arrive changed
 * are problems, too: infinite numbers and lone surrogates.
 */
export function openProblem(value: unknown): string | undefined {
  try {
    walk(value, 0, { nodes: 0, ownBytes: false, checksText: true, checksNumbers: true });
    return undefined;
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const path = error.path.replace(/^\./, '');
    return path === '' ? error.problem : `${path}: ${error.problem}`;
  }
}

/** Validates a value to send. @throws Mismatch, also for text that would arrive changed */
export function checkOpen(value: unknown): unknown {
  walk(value, 0, { nodes: 0, ownBytes: false, checksText: true, checksNumbers: false });
  return value;
}

/**
 * Validates a received value and replaces its byte arrays by copies, because a view of ten bytes would keep its whole
 * frame in memory. Changes `value` in place and returns it.
 * @throws Mismatch
 */
export function takeOpen(value: unknown): unknown {
  return walk(value, 0, { nodes: 0, ownBytes: true, checksText: false, checksNumbers: false });
}

interface Walk {
  nodes: number;
  readonly ownBytes: boolean;
  /** Whether text that UTF-8 cannot represent is refused. */
  readonly checksText: boolean;
  /** Whether numbers that JSON cannot represent are refused. */
  readonly checksNumbers: boolean;
}

function walk(value: unknown, depth: number, state: Walk): unknown {
  countNode(state);
  switch (typeof value) {
    case 'string':
      if (state.checksText && !value.isWellFormed()) throw new Mismatch(LONE_SURROGATE);
      return value;
    case 'number':
      if (state.checksNumbers && !Number.isFinite(value))
        throw new Mismatch(`${value}, which JSON cannot represent`);
      return value;
    case 'boolean':
    case 'undefined':
      return value;
    case 'object':
      break;
    default:
      mismatch('a JSON-like value', value);
  }
  if (value === null) return value;
  if (value instanceof Uint8Array) return state.ownBytes ? new Uint8Array(value) : value;
  if (depth === OPEN_DEPTH_MAX) throw new Mismatch(`more than ${OPEN_DEPTH_MAX} levels deep`);
  if (Array.isArray(value)) return walkList(value, depth, state);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) mismatch('a JSON-like value', value);
  return walkObject(value as Record<string, unknown>, depth, state);
}

function walkList(list: unknown[], depth: number, state: Walk): unknown[] {
  let i = 0;
  try {
    for (; i < list.length; i++) {
      const before = list[i];
      const after = walk(before, depth + 1, state);
      if (after !== before) list[i] = after;
    }
  } catch (error) {
    rethrowWithPath(`[${i}]`, error);
  }
  return list;
}

function walkObject(object: Record<string, unknown>, depth: number, state: Walk): Record<string, unknown> {
  let key = '';
  try {
    for (key of Object.keys(object)) {
      countNode(state);
      if (key === '__proto__') throw new Mismatch('the key __proto__ is not allowed');
      if (state.checksText && !key.isWellFormed()) throw new Mismatch(LONE_SURROGATE);
      const before = object[key];
      const after = walk(before, depth + 1, state);
      if (after !== before) object[key] = after;
    }
  } catch (error) {
    rethrowWithPath(`.${shorten(key)}`, error);
  }
  return object;
}

const LONE_SURROGATE = 'half of a character (a lone surrogate) cannot be passed on';

function countNode(state: Walk): void {
  if (++state.nodes > OPEN_NODES_MAX) throw new Mismatch(`more than ${OPEN_NODES_MAX} values`);
}

/** Limits the length of a key in an error message, because the sender chooses keys. */
function shorten(key: string): string {
  return key.length <= 40 ? key : `${key.slice(0, 39)}…`;
}
