import { InputError, present } from '@goshawk/core';

/**
 * An error in a user's workload: the file, a line of it, or a generator's options. The message is one line, `WHERE:
 * what is wrong; what to do`, ready to be displayed.
 */
export class WorkloadError extends InputError {
  override name = 'WorkloadError';
  /** The file; undefined if a generator's specification is wrong. */
  readonly file: string | undefined;
  /** 1-based line of the file, if one line is wrong. */
  readonly line: number | undefined;

  constructor(
    problem: string,
    advice: string,
    where: { file?: string | undefined; line?: number | undefined; cause?: unknown } = {},
  ) {
    const place =
      where.file === undefined ? '' : `${printable(where.file)}${where.line ? `:${where.line}` : ''}: `;
    super('bad-workload', `${place}${problem}; ${advice}`, '', present({ cause: where.cause }));
    this.file = where.file;
    this.line = where.line;
  }
}

/** @throws WorkloadError at the first value that is not a positive integer */
export function checkCounts(given: Readonly<Record<string, number | undefined>>): void {
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
      throw new WorkloadError(`${name} is ${value}`, 'use a whole number of at least 1');
    }
  }
}

const SHOWN_MAX = 40;

/** Quotes a JSON value in an error; lists and objects, which may be huge, are abbreviated. */
export function quoteJson(value: unknown): string {
  if (typeof value === 'string') return quote(JSON.stringify(value.slice(0, SHOWN_MAX + 1)));
  if (typeof value !== 'object' || value === null) return quote(String(JSON.stringify(value)));
  const isEmpty = Object.keys(value).length === 0;
  return Array.isArray(value) ? `'[${isEmpty ? '' : '…'}]'` : `'{${isEmpty ? '' : '…'}}'`;
}

/** Quotes text from a file in an error, truncated if it is long. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
  return `'${printable(shown)}'`;
}

/** Replaces control characters, which would break the line or command the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\ufffd');
}
