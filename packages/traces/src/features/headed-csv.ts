import { WorkloadError } from '../errors.js';
import { CsvRow } from '../formats/csv-row.js';
import { emptyTrace, readLineBatches } from '../formats/lines.js';

/** A row of a CSV file whose first line names the columns, used again for the next. */
export interface HeadedRow {
  readonly file: string;
  readonly line: number;
  /** Undefined where there is no such column, or it is empty. */
  text(column: string): string | undefined;
  /** A number, zero or more; undefined like `text`. */
  amount(column: string): number | undefined;
  /** @throws WorkloadError where it is missing */
  required(column: string): number;
}

/**
 * Rows of a CSV file without quotes, gzip'd or not, whose first line names its columns. Blank lines are skipped.
 *
 * @param needed columns that there have to be
 * @throws WorkloadError with file and line at the first thing that is wrong
 */
export async function* readHeadedCsv(file: string, needed: readonly string[]): AsyncGenerator<HeadedRow> {
  const row = new CsvRow(file);
  let places: Map<string, number> | undefined;
  let headed: HeadedRow | undefined;
  for await (const batch of readLineBatches(file)) {
    for (const text of batch) {
      row.next(text);
      if (row.isBlank) continue;
      if (headed === undefined || places === undefined) {
        places = placesOf(text, needed, file);
        headed = headedRow(row, places);
        continue;
      }
      row.expectColumns(places.size);
      yield headed;
    }
  }
  if (headed === undefined)
    throw emptyTrace(file, `its first line names its columns, ${needed.join(', ')} among them`);
}

function placesOf(header: string, needed: readonly string[], file: string): Map<string, number> {
  const names = header.trim().split(',');
  const places = new Map(names.map((name, place) => [name.trim(), place]));
  const missing = needed.filter((name) => !places.has(name));
  if (missing.length === 0 && places.size === names.length) return places;
  throw new WorkloadError(
    missing.length === 0 ? 'two columns have the same name' : `there is no column ${missing.join(', ')}`,
    'the first line names the columns (docs/USE.md lists them)',
    { file, line: 1 },
  );
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
      throw row.wrong(places.get(column)!, column, 'it is a number, zero or more');
    },
  };
}
