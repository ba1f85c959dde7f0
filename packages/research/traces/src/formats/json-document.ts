import { setImmediate } from 'node:timers/promises';
import { quote, quoteJson, WorkloadError } from '../errors.js';
import type { Tally } from '../tally.js';
import { decimal } from './fields.js';
import { DOCUMENT_BYTES_MAX, readChunks, tooLarge } from './files.js';
import { tallyUnread } from './table.js';

/** Path of a value in a document: `['jobs', 3, 'res']`. */
export type JsonPath = readonly (string | number)[];

type JsonObject = Readonly<Record<string, unknown>>;

/** Whether the start of a file is JSON with these keys, and not in one of our formats. */
export function isDocumentWith(keys: RegExp, head: string): boolean {
  return /^\s*[[{]/.test(head) && !/^\s*\{"schema":"goshawk/.test(head) && keys.test(head);
}

/** One JSON value of a file, with accessors whose errors contain the line and the path. */
export class JsonDocument {
  readonly value: unknown;
  /** Path of the value: of the file, or of an element of its list. */
  readonly path: JsonPath;
  readonly #file: string;
  readonly #piece: Piece;

  constructor(file: string, piece: Piece, value: unknown) {
    this.#file = file;
    this.#piece = piece;
    this.path = piece.index === undefined ? [] : [piece.index];
    this.value = value;
  }

  object(value: unknown, path: JsonPath): JsonObject {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
    throw this.wrong(path, value, 'it must be an object');
  }

  list(value: unknown, path: JsonPath): readonly unknown[] {
    if (Array.isArray(value)) return value;
    throw this.wrong(path, value, 'it must be a list');
  }

  text(value: unknown, path: JsonPath): string {
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return `${value}`;
    throw this.wrong(path, value, 'it must be a string');
  }

  /** Returns a number, possibly in quotes, that satisfies `is`. */
  number(value: unknown, path: JsonPath, is: (value: number) => boolean, advice: string): number {
    const number = typeof value === 'string' ? decimal(value.trim()) : value;
    if (typeof number === 'number' && Number.isFinite(number) && is(number)) return number;
    throw this.wrong(path, value, advice);
  }

  wrong(path: JsonPath, value: unknown, advice: string): WorkloadError {
    const name = pathInWords(path);
    const is = value === undefined ? 'is missing' : `is ${quoteJson(value)}`;
    return this.fault(path, `${name === '' ? 'the document' : name} ${is}`, advice);
  }

  /** @param path of the error; if it does not exist, the location of its parent is reported */
  fault(path: JsonPath, problem: string, advice: string): WorkloadError {
    const { text, line } = this.#piece;
    const { found = 0 } = scan(text, path.slice(this.path.length));
    return new WorkloadError(problem, advice, { file: this.#file, line: line + linesBefore(text, found) });
  }
}

function pathInWords(path: JsonPath): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`))
    .join('');
}

/** Collects the names of fields that a reader ignores. */
export class UnreadFields {
  readonly #names = new Set<string>();

  /** @param known names that the reader uses, or ignores because the result does not depend on them */
  note(object: JsonObject, known: ReadonlySet<string>): void {
    for (const name in object) if (!known.has(name) && this.#names.size < NAMES_MAX) this.#names.add(name);
  }

  tally(tally: Tally): void {
    const names = [...this.#names].map((name) => quote(name).slice(1, -1));
    tallyUnread(tally, names, 'fields');
  }
}

/** More names are damage or data. */
const NAMES_MAX = 1_000;

/** Reads a file that is one JSON value. @throws WorkloadError with line and column if it is not JSON */
export async function readJsonDocument(file: string, signal?: AbortSignal): Promise<JsonDocument> {
  let document: JsonDocument | undefined;
  for await (const piece of piecesOf(file, { isSplit: false, isSingle: true }, signal))
    document = await parsed(file, piece, signal);
  return document ?? (await parsed(file, { text: '', line: 1, column: 1 }, signal));
}

/**
 * Reads the elements of a list one by one, so that memory holds one of them; the path of each is its index. A value
 * that is not a list has the path [].
 *
 * @param isSingle if false, several values may follow one another
 * @throws WorkloadError with line and column of the first syntax error
 */
export async function* readJsonElements(
  file: string,
  isSingle: boolean,
  signal?: AbortSignal,
): AsyncGenerator<JsonDocument> {
  for await (const piece of piecesOf(file, { isSplit: true, isSingle }, signal))
    yield await parsed(file, piece, signal);
}

async function parsed(file: string, piece: Piece, signal: AbortSignal | undefined): Promise<JsonDocument> {
  const { text, line, column } = piece;
  try {
    return new JsonDocument(file, piece, JSON.parse(text));
  } catch {
    const { fault: at = text.length } = await scanInTurns(text, signal);
    const lines = linesBefore(text, at);
    const before = at - text.lastIndexOf('\n', at - 1);
    throw notJson(file, line + lines, lines === 0 ? column + at : before, text.slice(at));
  }
}

function notJson(file: string, line: number, column: number, rest: string): WorkloadError {
  return new WorkloadError(
    rest.trim() === ''
      ? 'the JSON document ends too early'
      : `column ${column}: not JSON: ${quote(rest.slice(0, 20).split('\n', 1)[0]!)}`,
    'copy or export the file again',
    { file, line },
  );
}

/** Text that should be one JSON value, complete unless the file ends within it. */
interface Piece {
  readonly text: string;
  /** 1-based position of its first character. */
  readonly line: number;
  readonly column: number;
  /** Index in the outermost list, if that is split. */
  readonly index?: number;
}

/** Deeper values are in no format, and would take memory out of proportion to the file. */
const DEPTH_MAX = 100;
/** Maximum memory of a parsed value, estimated from its punctuation. */
const VALUE_BYTES_MAX = 192 * 1024 * 1024;
const CONTAINER_BYTES = 64;
const ENTRY_BYTES = 16;

const NEWLINE = 10;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [LIST, LIST_END, OBJECT, OBJECT_END] = [91, 93, 123, 125];
/** Start of a piece that is not JSON, which is reported with its position. */
const FAULT_CHARACTERS = 40;

/**
 * Splits a file at the ends of its values without parsing them, and rejects what would exhaust memory.
 *
 * @param isSplit whether an outermost list is split into its elements
 * @param isSingle whether the file must be one value
 */
async function* piecesOf(
  file: string,
  { isSplit, isSingle }: { readonly isSplit: boolean; readonly isSingle: boolean },
  signal: AbortSignal | undefined,
): AsyncGenerator<Piece> {
  let line = 1;
  /** Offsets in the file. */
  let [offset, lineStart] = [0, 0];
  let start: { readonly line: number; readonly column: number } | undefined;
  let held: Buffer[] = [];
  let heldBytes = 0;
  let cost = 0;
  let depth = 0;
  let [isInString, isEscaped] = [false, false];
  /** Index of the element of the open list; undefined outside of one. */
  let index: number | undefined;
  let isComplete = false;
  /** Whether a comma or the end of the list must come next. */
  let isSeparated = true;

  const take = (last: Buffer): Piece => {
    const text = Buffer.concat([...held, last]).toString('utf8');
    const piece = { text, ...start!, ...(index === undefined ? {} : { index }) };
    [start, held, heldBytes, cost, depth] = [undefined, [], 0, 0, 0];
    return piece;
  };
  for await (const chunk of readChunks(file, () => line, signal)) {
    /** Offset in the chunk from which bytes belong to the piece. */
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === NEWLINE) {
        line++;
        lineStart = offset + at + 1;
      }
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
        continue;
      }
      const isBlank = byte <= SPACE;
      if (start === undefined) {
        if (isBlank) continue;
        if (index !== undefined && byte === COMMA && !isSeparated) {
          isSeparated = true;
          index++;
          continue;
        }
        if (index !== undefined && byte === LIST_END && (!isSeparated || index === 0)) {
          index = undefined;
          isComplete = isSingle;
          continue;
        }
        const isMisplaced = isComplete || (index !== undefined && !isSeparated);
        if (isMisplaced || byte === COMMA || byte === LIST_END || byte === OBJECT_END) {
          const rest = chunk.toString('utf8', at, at + FAULT_CHARACTERS);
          throw notJson(file, line, offset + at - lineStart + 1, rest);
        }
        if (isSplit && index === undefined && byte === LIST) {
          [index, isSeparated] = [0, true];
          continue;
        }
        start = { line, column: offset + at - lineStart + 1 };
        from = at;
      }
      if (byte === QUOTE) isInString = true;
      else if (byte === LIST || byte === OBJECT) {
        cost += CONTAINER_BYTES;
        if (++depth > DEPTH_MAX)
          throw new WorkloadError(`values are nested more than ${DEPTH_MAX} deep`, 'check the file', {
            file,
            line,
          });
      } else if (byte === LIST_END || byte === OBJECT_END) depth--;
      else if (byte === COMMA) cost += ENTRY_BYTES;
      // Numbers, and words such as null, end at what follows them.
      const isEnd = depth < 0 || (depth === 0 && (isBlank || byte === COMMA));
      if (isEnd || (depth === 0 && (byte === LIST_END || byte === OBJECT_END))) {
        const end = isEnd ? at : at + 1;
        yield take(chunk.subarray(from, end));
        isSeparated = false;
        isComplete = isSingle && index === undefined;
        if (isEnd && !isBlank) at--;
      }
    }
    if (start !== undefined) {
      const rest = chunk.subarray(from);
      held.push(rest);
      heldBytes += rest.length;
      if (heldBytes > DOCUMENT_BYTES_MAX || heldBytes + cost > VALUE_BYTES_MAX) throw tooLarge(file, line);
    }
    offset += chunk.length;
  }
  if (start !== undefined) yield take(Buffer.of());
  else if (index !== undefined) throw notJson(file, line, 1, '');
}

/** Returns the number of line ends before an offset. */
function linesBefore(text: string, at: number): number {
  let lines = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) lines++;
  return lines;
}

function skipBlanks(text: string, from: number): number {
  const code = text.charCodeAt(from);
  if (code > SPACE && code < 0x80) return from;
  BLANKS.lastIndex = from;
  return BLANKS.test(text) ? BLANKS.lastIndex : from;
}

const SPACE = 0x20;
const BLANKS = /[\s\ufeff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;
const MARKS = '{}[],:';

/** Returns undefined if there is no valid string. A regular expression would exhaust the stack for a million escapes. */
function endOfString(text: string, from: number): number | undefined {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < SPACE) return undefined;
    if (code !== BACKSLASH) continue;
    ESCAPE.lastIndex = at;
    if (!ESCAPE.test(text)) return undefined;
    at = ESCAPE.lastIndex - 1;
  }
  return undefined;
}

function endOfScalar(text: string, from: number): number | undefined {
  SCALAR.lastIndex = from;
  return SCALAR.test(text) ? SCALAR.lastIndex : undefined;
}

interface Scanned {
  /** Offset after the value; undefined if it is not JSON. */
  readonly end?: number;
  /** Offset of the first syntax error. */
  readonly fault?: number;
  /** Offset of the value at the path, or of the innermost existing value around it. */
  readonly found?: number;
}

function scan(text: string, path: JsonPath): Scanned {
  const turns = scanning(text, path);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
  }
}

/** Scans with pauses in which signals are handled. */
async function scanInTurns(text: string, signal: AbortSignal | undefined): Promise<Scanned> {
  const turns = scanning(text, []);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
    await setImmediate();
    signal?.throwIfAborted();
  }
}

/** Number of tokens that are scanned in some ms. */
const TURN_TOKENS = 65_536;

/**
 * Scans one JSON value, because `JSON.parse` does not report the positions of values, nor always that of an error.
 */
function* scanning(text: string, path: JsonPath): Generator<undefined, Scanned> {
  /** Keys or indices of the enclosing values; the first `matched` of them match the path. */
  const around: { readonly isList: boolean; step: string | number }[] = [];
  let matched = 0;
  let found: number | undefined;
  let expects: 'value' | 'key' | 'colon' | 'next' = 'value';
  let isFirst = false;
  let tokens = 0;
  for (let end = 0; ; ) {
    if (++tokens % TURN_TOKENS === 0) yield;
    const at = skipBlanks(text, end);
    const first = text[at] ?? '';
    const mark = first !== '' && MARKS.includes(first) ? first : undefined;
    const tokenEnd =
      mark !== undefined ? at + 1 : first === '"' ? endOfString(text, at) : endOfScalar(text, at);
    if (tokenEnd === undefined) return { ...(found === undefined ? {} : { found }), fault: at };
    end = tokenEnd;
    const inner = around.at(-1);
    const closes = mark === '}' ? inner?.isList === false : mark === ']' && inner?.isList === true;
    if (closes && (expects === 'next' || isFirst)) {
      around.pop();
      matched = Math.min(matched, around.length);
      expects = 'next';
    } else if (expects === 'value' && (mark === undefined || mark === '{' || mark === '[')) {
      const depth = around.length;
      if (depth === 0) found ??= at;
      else if (matched === depth - 1 && depth <= path.length && inner!.step === path[depth - 1]) {
        matched = depth;
        found = at;
      }
      if (mark === undefined) expects = 'next';
      else {
        around.push({ isList: mark === '[', step: 0 });
        expects = mark === '[' ? 'value' : 'key';
        isFirst = true;
        continue;
      }
    } else if (expects === 'key' && first === '"') {
      // Only a key on the path is compared.
      inner!.step = around.length <= path.length ? (JSON.parse(text.slice(at, end)) as string) : '';
      expects = 'colon';
    } else if (expects === 'colon' && mark === ':') {
      expects = 'value';
    } else if (expects === 'next' && mark === ',' && inner !== undefined) {
      if (inner.isList) inner.step = (inner.step as number) + 1;
      matched = Math.min(matched, around.length - 1);
      expects = inner.isList ? 'value' : 'key';
    } else {
      return { ...(found === undefined ? {} : { found }), fault: at };
    }
    isFirst = false;
    if (around.length === 0 && expects === 'next') return { ...(found === undefined ? {} : { found }), end };
  }
}
