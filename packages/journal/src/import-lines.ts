import { InputError, type JobRecord, jsonExcess, NO_USAGE } from '@goshawk/core';
import { BadMarkError, parseExported } from './exported-json.js';
import { decodeRecord, encodeRecord, RECORD_KINDS } from './record-codec.js';

/**
 * Parses the output of `goshawk journal export`: JSON lines of one journal, in UTF-8.
 *
 * @throws InputError that names the invalid line
 */
export function parseExport(bytes: Uint8Array): { readonly tag: string; readonly records: JobRecord[] } {
  const records: JobRecord[] = [];
  const accepted = new Set<number>();
  /** Number of stages of the current job. */
  let stages = 0;
  let tag: string | undefined;
  let index = -1;
  for (const line of linesOf(bytes)) {
    index++;
    if (line.trim() === '') continue;
    const { id, record } = parseLine(line, index + 1);
    const itsTag = id.slice(0, id.lastIndexOf('-'));
    tag ??= itsTag;
    if (itsTag !== tag)
      throw bad(index + 1, `belongs to journal ${itsTag}, but the lines before it belong to ${tag}`);
    if (record.kind === 'accepted') {
      if (accepted.has(record.job))
        throw bad(index + 1, `accepts job ${id} again: import one export at a time`);
      accepted.add(record.job);
      stages = record.spec.stages.length;
    }
    const time = badTime(record, stages);
    if (time !== undefined) throw bad(index + 1, `has a bad ${time}: times are milliseconds and at least 0`);
    records.push(record);
  }
  if (tag === undefined)
    throw new InputError(
      'bad-import',
      'stdin contains no records',
      'use the output of `goshawk journal export`',
    );
  return { tag, records };
}

/** Decodes line by line, because a string has at most 512 MiB. */
function* linesOf(bytes: Uint8Array): Iterable<string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at <= buffer.length; ) {
    const end = buffer.indexOf(10, at);
    yield buffer.toString('utf8', at, end < 0 ? buffer.length : end);
    at = end < 0 ? buffer.length + 1 : end + 1;
  }
}

function parseLine(line: string, number: number): { readonly id: string; readonly record: JobRecord } {
  const excess = jsonExcess(line);
  if (excess !== undefined) throw bad(number, `is not a job record: ${excess}`);
  let value: unknown;
  try {
    value = parseExported(line);
  } catch (error) {
    throw bad(number, error instanceof BadMarkError ? error.message : 'is not JSON');
  }
  const { id, ...record } = (value ?? {}) as JobRecord & { id: string };
  const { kind, job, at } = record;
  const isRecord =
    RECORD_KINDS.includes(kind) &&
    Number.isSafeInteger(job) &&
    Number.isFinite(at) &&
    id === `${/^[a-z0-9]+/.exec(id ?? '')?.[0]}-${job}`;
  const hasParts =
    (kind !== 'accepted' || Array.isArray(record.spec?.stages)) &&
    (kind !== 'appended' || Array.isArray(record.tasks)) &&
    (kind !== 'usage' || (Array.isArray(record.rows) && record.rows.every(isUsageRow)));
  if (!isRecord || !hasParts) throw bad(number, 'is not a job record');
  try {
    // Encodes and decodes the record as a journal would.
    return { id, record: decodeRecord(encodeRecord(record)) };
  } catch {
    throw bad(number, 'is not a job record');
  }
}

/**
 * Returns the name of a field that the scheduler would use as a time, but that is not one.
 * @param stages of the job
 */
function badTime(record: JobRecord, stages: number): string | undefined {
  if (record.kind === 'attempt') return isMs(record.runMs) ? undefined : 'runMs';
  if (record.kind !== 'accepted' && record.kind !== 'classified') return undefined;
  const { estimateMs } = record.kind === 'accepted' ? record.spec : record;
  if (estimateMs !== undefined && !isMs(estimateMs)) return 'estimateMs';
  const { stagesMs } = record;
  if (stagesMs === undefined) return undefined;
  const isOfStages = Array.isArray(stagesMs) && stagesMs.length === stages && stagesMs.every(isMs);
  return isOfStages ? undefined : `stagesMs (one for each of ${stages} stages)`;
}

function isUsageRow(row: unknown): boolean {
  const sums = (row ?? {}) as Record<string, unknown>;
  return Object.keys(NO_USAGE).every((sum) => Number.isFinite(sums[sum]));
}

function isMs(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

function bad(line: number, problem: string): InputError {
  return new InputError(
    'bad-import',
    `line ${line} ${problem}`,
    'use the output of `goshawk journal export`',
  );
}
