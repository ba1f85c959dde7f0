import { quote, quoteJson, WorkloadError } from '../errors.js';
import { readDocument } from './files.js';

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
  readonly #file: string;
  readonly #text: string;
  /** Offset of the value in the text. */
  readonly #from: number;

  constructor(file: string, text: string, from: number, value: unknown) {
    this.#file = file;
    this.#text = text;
    this.#from = from;
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
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
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
    const scanned = scan(this.#text, this.#from, path);
    const at = scanned.found ?? this.#from;
    return new WorkloadError(problem, advice, { file: this.#file, line: lineOf(this.#text, at) });
  }
}

function pathInWords(path: JsonPath): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`))
    .join('');
}

/** @throws WorkloadError with line and column if the file is not JSON */
export async function readJsonDocument(file: string): Promise<JsonDocument> {
  const text = await readDocument(file);
  try {
    return new JsonDocument(file, text, 0, JSON.parse(text));
  } catch {
    throw notJson(file, text, scan(text, 0).fault ?? text.length);
  }
}

/** Returns the consecutive JSON values of a file. @throws as `readJsonDocument` */
export async function readJsonValues(file: string): Promise<JsonDocument[]> {
  const text = await readDocument(file);
  const documents: JsonDocument[] = [];
  for (let at = skipBlanks(text, 0); at < text.length; ) {
    const { end, fault } = scan(text, at);
    if (end === undefined) throw notJson(file, text, fault ?? text.length);
    documents.push(new JsonDocument(file, text, at, JSON.parse(text.slice(at, end))));
    at = skipBlanks(text, end);
  }
  return documents;
}

/** @param at offset of the error */
function notJson(file: string, text: string, at: number): WorkloadError {
  const line = lineOf(text, at);
  const column = at - text.lastIndexOf('\n', at - 1);
  const isEnd = text.slice(at).trim() === '';
  return new WorkloadError(
    isEnd
      ? 'the JSON document ends too early'
      : `column ${column}: not JSON: ${quote(text.slice(at, at + 20).split('\n', 1)[0]!)}`,
    'copy or export the file again',
    { file, line },
  );
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) line++;
  return line;
}

function skipBlanks(text: string, from: number): number {
  const code = text.charCodeAt(from);
  if (code > SPACE && code < 0x80) return from;
  BLANKS.lastIndex = from;
  return BLANKS.test(text) ? BLANKS.lastIndex : from;
}

const SPACE = 0x20;
const BLANKS = /[\s\ufeff]*/y;
/** Tokens by their first character. */
const STRING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings hold none.
  /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;
const MARKS = '{}[],:';

interface Scanned {
  /** Offset after the value; undefined if it is not JSON. */
  readonly end?: number;
  /** Offset of the first syntax error. */
  readonly fault?: number;
  /** Offset of the value at the path, or of the innermost existing value around it. */
  readonly found?: number;
}

/**
 * Scans one JSON value, because `JSON.parse` does not report the positions of values, nor always that of an error.
 */
function scan(text: string, from: number, path: JsonPath = []): Scanned {
  /** Keys or indices of the enclosing values; the first `matched` of them match the path. */
  const around: { readonly isList: boolean; step: string | number }[] = [];
  let matched = 0;
  let found: number | undefined;
  let expects: 'value' | 'key' | 'colon' | 'next' = 'value';
  let isFirst = false;
  for (let end = from; ; ) {
    const at = skipBlanks(text, end);
    const first = text[at] ?? '';
    const mark = first !== '' && MARKS.includes(first) ? first : undefined;
    const token = first === '"' ? STRING : SCALAR;
    token.lastIndex = at;
    if (mark === undefined && !token.test(text))
      return { ...(found === undefined ? {} : { found }), fault: at };
    end = mark === undefined ? token.lastIndex : at + 1;
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
