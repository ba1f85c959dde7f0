import { nearest } from '@goshawk/core';
import { quote, WorkloadError } from '../errors.js';
import { decimal } from './fields.js';
import { emptyTrace, readLineBatches } from './files.js';

const COMMA = 44;
const CARRIAGE_RETURN = 13;

/**
 * One row of a CSV file without quotes, reused for each row because tables have 150 million. Columns are counted from
 * 0 here, and from 1 in errors.
 */
export class CsvRow {
  readonly file: string;
  /** 1-based; 0 before the first. */
  line = 0;
  #text = '';
  #columns = 0;
  /** Start of each column, and one position past the end. */
  readonly #starts: number[] = [];

  constructor(file: string) {
    this.file = file;
  }

  next(text: string): void {
    const length = text.charCodeAt(text.length - 1) === CARRIAGE_RETURN ? text.length - 1 : text.length;
    this.line++;
    this.#text = text;
    this.#columns = 1;
    this.#starts[0] = 0;
    for (let i = 0; i < length; i++) {
      if (text.charCodeAt(i) === COMMA) this.#starts[this.#columns++] = i + 1;
    }
    this.#starts[this.#columns] = length + 1;
  }

  get isBlank(): boolean {
    return this.#columns === 1 && this.text(0).trim() === '';
  }

  expectColumns(columns: number): void {
    if (this.#columns === columns) return;
    throw new WorkloadError(
      `the line has ${this.#columns} ${this.#columns === 1 ? 'column' : 'columns'} instead of ${columns}`,
      'copy or download the part again; the schema of the official Google trace lists the columns',
      { file: this.file, line: this.line },
    );
  }

  isEmpty(column: number): boolean {
    return this.#starts[column + 1]! - this.#starts[column]! === 1;
  }

  text(column: number): string {
    return this.#text.slice(this.#starts[column], this.#starts[column + 1]! - 1);
  }

  /**
   * Parses decimal digits. Values above 2^53 (the trace writes 2^63 − 1 for "after its end") are approximate.
   */
  wholeNumber(column: number, name: string): number {
    const end = this.#starts[column + 1]! - 1;
    let value = 0;
    for (let i = this.#starts[column]!; i < end; i++) {
      const digit = this.#text.charCodeAt(i) - 48;
      if (digit < 0 || digit > 9) throw this.wrong(column, name, 'it must be a whole number');
      value = value * 10 + digit;
    }
    if (this.isEmpty(column)) throw this.wrong(column, name, 'it must be a whole number');
    return value;
  }

  /** Parses a number of at least 0; undefined if the column is empty. */
  amount(column: number, name: string): number | undefined {
    if (this.isEmpty(column)) return undefined;
    const text = this.text(column);
    const value = decimal(text.trim());
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
      throw this.wrong(column, name, 'it must be a number of at least 0');
    }
    return value;
  }

  wrong(column: number, name: string, advice: string): WorkloadError {
    const shown = this.isEmpty(column) ? 'empty' : quote(this.text(column));
    return new WorkloadError(`column ${column + 1}, the ${name}, is ${shown}`, advice, {
      file: this.file,
      line: this.line,
    });
  }
}

/** A row of a CSV file with a header, reused for each row. */
export interface HeadedRow {
  readonly file: string;
  readonly line: number;
  /** Undefined if the column is missing or empty. */
  text(column: string): string | undefined;
  /** Parses a number of at least 0; undefined as for `text`. */
  amount(column: string): number | undefined;
  /** @throws WorkloadError if it is missing */
  required(column: string): number;
}

/**
 * Reads rows of a CSV file without quotes, optionally gzipped, with a header. Blank lines are skipped.
 *
 * @param needed required columns
 * @param known columns that are read; similar names are refused, others ignored
 * @throws WorkloadError with file and line of the first error
 */
export async function* readHeadedCsv(
  file: string,
  needed: readonly string[],
  known: readonly string[] = needed,
  signal?: AbortSignal,
): AsyncGenerator<HeadedRow> {
  const row = new CsvRow(file);
  let places: Map<string, number> | undefined;
  let headed: HeadedRow | undefined;
  for await (const batch of readLineBatches(file, signal)) {
    for (const text of batch) {
      row.next(text);
      if (row.isBlank) continue;
      if (headed === undefined || places === undefined) {
        places = placesOf(text, needed, file);
        refuseNearly(places, known, file);
        headed = headedRow(row, places);
        continue;
      }
      row.expectColumns(places.size);
      yield headed;
    }
  }
  if (headed === undefined)
    throw emptyTrace(file, `the first line must name the columns, including ${needed.join(', ')}`);
}

function placesOf(header: string, needed: readonly string[], file: string): Map<string, number> {
  const names = header.trim().split(',');
  const places = new Map(names.map((name, place) => [name.trim(), place]));
  const missing = needed.filter((name) => !places.has(name));
  if (missing.length === 0 && places.size === names.length) return places;
  throw new WorkloadError(
    missing.length === 0 ? 'two columns have the same name' : `missing column ${missing.join(', ')}`,
    'the first line must name the columns (docs/SIMULATE.md lists them)',
    { file, line: 1 },
  );
}

/** Rejects a column `task`: ignoring it would give each job a single task. */
function refuseNearly(places: ReadonlyMap<string, number>, known: readonly string[], file: string): void {
  for (const name of places.keys()) {
    const suggestion = known.includes(name) ? undefined : nearest(name, known);
    if (suggestion === undefined || places.has(suggestion)) continue;
    throw new WorkloadError(`unknown column ${quote(name)}`, `did you mean ${quote(suggestion)}?`, {
      file,
      line: 1,
    });
  }
}

function headedRow(row: CsvRow, places: ReadonlyMap<string, number>): HeadedRow {
  const amount = (column: string): number | undefined => {
    const place = places.get(column);
    return place === undefined ? undefined : row.amount(place, column);
  };
  return {
    file: row.file,
    get line() {
      return row.line;
    },
    text: (column) => {
      const place = places.get(column);
      return place === undefined || row.isEmpty(place) ? undefined : row.text(place).trimEnd();
    },
    amount,
    required: (column) => {
      const value = amount(column);
      if (value !== undefined) return value;
      throw row.wrong(places.get(column)!, column, 'it must be a number of at least 0');
    },
  };
}
