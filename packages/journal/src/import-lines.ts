import { InputError, type JobRecord } from '@goshawk/core';
import { decodeRecord, encodeRecord, RECORD_KINDS } from './record-codec.js';

/**
 * The records of what `goshawk journal export` has printed: a line of JSON each, of one journal.
 *
 * @throws InputError that says which line is none
 */
export function parseExport(text: string): { readonly tag: string; readonly records: JobRecord[] } {
  const records: JobRecord[] = [];
  let tag: string | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const { id, record } = parseLine(line, index + 1);
    const itsTag = id.slice(0, id.lastIndexOf('-'));
    tag ??= itsTag;
    if (itsTag !== tag)
      throw bad(index + 1, `is of another journal (${itsTag}) than those before it (${tag})`);
    records.push(record);
  }
  if (tag === undefined)
    throw new InputError(
      'bad-import',
      'stdin holds no record',
      'give what `goshawk journal export` has printed',
    );
  return { tag, records };
}

function parseLine(line: string, number: number): { readonly id: string; readonly record: JobRecord } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw bad(number, 'is not JSON');
  }
  const { id, ...record } = (value ?? {}) as JobRecord & { id: string };
  const { kind, job, at } = record;
  const isRecord =
    RECORD_KINDS.includes(kind) &&
    Number.isSafeInteger(job) &&
    Number.isFinite(at) &&
    id === `${/^[a-z0-9]+/.exec(id ?? '')?.[0]}-${job}`;
  if (!isRecord || (kind === 'accepted' && !Array.isArray(record.spec?.stages)))
    throw bad(number, 'is no record of a job');
  // As it is read from a journal.
  return { id, record: decodeRecord(encodeRecord(record)) };
}

function bad(line: number, problem: string): InputError {
  return new InputError(
    'bad-import',
    `line ${line} ${problem}`,
    'give what `goshawk journal export` has printed',
  );
}
