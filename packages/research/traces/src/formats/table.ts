import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { CsvError, type Options, parse } from 'csv-parse';
import { quote, WorkloadError } from '../errors.js';
import type { Tally } from '../tally.js';
import { readChunks } from './files.js';

/** A row of a table with a header, whose cells are accessed by index. */
export interface Row {
  readonly file: string;
  readonly line: number;
  readonly cells: readonly string[];
}

interface Style {
  readonly delimiter: string;
  /** Whether a quoted cell may contain delimiters and line ends. */
  readonly hasQuotes: boolean;
}

/** Maximum length of a line. */
const LINE_BYTES_MAX = 1024 * 1024;
/** Maximum length of one record, so that an unclosed quote does not swallow the rest of a large file. */
const RECORD_CHARACTERS_MAX = 2 * LINE_BYTES_MAX;
/** Maximum number of columns of a header. */
export const COLUMNS_MAX = 4_096;
/** Bytes that are parsed in some ms. */
const PIECE_BYTES = 16 * 1024;
const NEWLINE = 10;

/**
 * Records of a delimited text file, optionally gzipped, including the header; blank lines and blanks around cells are
 * removed.
 *
 * @throws WorkloadError with file and line if quotes do not match, or if a line is too long; the signal's reason
 */
export async function* readRecords(
  file: string,
  { delimiter, hasQuotes }: Style,
  signal?: AbortSignal,
): AsyncGenerator<Row> {
  const options: Options = {
    delimiter,
    // Otherwise that of the first line ends all records, and a file with both kinds loses rows.
    record_delimiter: ['\r\n', '\n', '\r'],
    quote: hasQuotes ? '"' : null,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: RECORD_CHARACTERS_MAX,
  };
  const source = Readable.from(chunksOfShortLines(file, signal));
  const parser = parse(options);
  // `pipe` does not forward read errors.
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let isHeader = true;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      if (record.length === 1 && record[0] === '') continue;
      if (isHeader && record.length > COLUMNS_MAX) {
        throw new WorkloadError(
          `the header has ${record.length} columns, more than ${COLUMNS_MAX}`,
          'check that this is a table with a job per row',
          { file, line: info.lines },
        );
      }
      isHeader = false;
      yield { file, line: info.lines, cells: record };
    }
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    const line = (cause as unknown as { lines?: number }).lines;
    throw new WorkloadError(
      cause.code === 'CSV_QUOTE_NOT_CLOSED' || cause.code === 'CSV_MAX_RECORD_SIZE'
        ? 'a double quote is not closed'
        : `the quotes are wrong (${cause.message.split('\n', 1)[0]!.slice(0, 120)})`,
      'write quotes within a cell as "like ""this"""',
      { file, line, cause },
    );
  } finally {
    source.destroy();
  }
}

/** Returns a name of a header without blanks and quotes around it. */
export function columnName(cell: string): string {
  return cell
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();
}

/** Chunks of a file. Without a limit a line of 60 MB, which may have as many cells, would take gigabytes. */
async function* chunksOfShortLines(file: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  let line = 1;
  let length = 0;
  for await (const chunk of readChunks(file, () => line, signal)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      line++;
      length = 0;
      start = end + 1;
    }
    length += chunk.length - start;
    if (length > LINE_BYTES_MAX) {
      throw new WorkloadError(
        `the line is longer than ${LINE_BYTES_MAX / 1024 / 1024} MiB`,
        'check that this is a table with a job per row',
        { file, line },
      );
    }
    for (let from = 0; from < chunk.length; from += PIECE_BYTES) {
      yield chunk.subarray(from, from + PIECE_BYTES);
      // A chunk of short rows is parsed in a second on a busy machine; signals are handled only during a pause.
      await setImmediate();
      signal?.throwIfAborted();
    }
  }
}

/** Splits `submit time (s)`, `SubmitTime` and `submit_time` into equal words: submit, time, and s. */
export function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

const QUOTE_DELIMITERS = 'put a cell that contains the delimiter in double quotes';

export function checkLength({ cells, file, line }: Row, columns: number, advice = QUOTE_DELIMITERS): void {
  if (cells.length === columns) return;
  throw new WorkloadError(
    `the line has ${cells.length} ${cells.length === 1 ? 'column' : 'columns'} instead of ${columns}`,
    `each row must have as many as the header; ${advice}`,
    { file, line },
  );
}

/** Rejects two columns with the same name, of which one would be ignored. Names are compared by `nameOf`. */
export function checkHeader(header: Row, nameOf: (cell: string) => string = (cell) => cell): void {
  const names = new Set<string>();
  for (const cell of header.cells) {
    const name = nameOf(cell);
    if (name !== '' && names.has(name))
      throw new WorkloadError(
        `two columns have the same name, ${quote(cell)}`,
        'rename or remove one of them',
        header,
      );
    names.add(name);
  }
}

/** @throws WorkloadError if a row repeats the header, as in files that were concatenated */
export function checkNotHeader(row: Row, header: readonly string[]): void {
  if (row.cells.length !== header.length || !row.cells.every((cell, place) => cell === header[place])) return;
  throw new WorkloadError(
    'the line repeats the header',
    'remove it, as only the first line names the columns',
    row,
  );
}

/** @param column index, from 0 */
export function wrongCell(
  { cells, file, line }: Row,
  column: number,
  name: string,
  advice: string,
): WorkloadError {
  const text = cells[column] ?? '';
  return new WorkloadError(
    `column ${column + 1}, the ${name}, is ${text === '' ? 'empty' : quote(text)}`,
    advice,
    { file, line },
  );
}

/** Counts columns, or fields, that a reader ignores, in one line with their names. */
export function tallyUnread(
  tally: Tally,
  names: readonly string[],
  kind: 'columns' | 'fields' = 'columns',
): void {
  if (names.length === 0) return;
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const more = names.length > NAMES_SHOWN ? ' and others' : '';
  tally.add({ code: `${kind}-not-read`, what: `ignored ${kind}: ${shown}${more}` }, names.length);
}

const NAMES_SHOWN = 20;
