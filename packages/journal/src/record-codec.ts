import { randomUUID } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { crc32 } from 'node:zlib';
import {
  impossibleField,
  JOB_RECORDS,
  type JobRecord,
  type JobSpec,
  NO_RESOURCES,
  type Resources,
} from '@goshawk/core';
import { Packr, RESERVE_START_SPACE } from 'msgpackr/index-no-eval';
import { exportedJson } from './exported-json.js';
import { LargeRecord, type PackedList, TooLargeError } from './large-record.js';
import { PackedError } from './packed.js';

/**
 * The binary format of a record: CRC-32 of the rest (4 bytes), then a MessagePack array of kind, job, time and the
 * kind's own fields by position, up to the last one with a value. The order of kinds and fields in `JOB_RECORDS` is the
 * format: a change after a release needs a new `FORMAT`, so that older versions refuse the journal instead of reporting
 * damage.
 */
const KINDS = Object.keys(JOB_RECORDS) as JobRecord['kind'][];
const FIELDS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  KINDS.map((kind) => [kind, Object.keys(JOB_RECORDS[kind])]),
);
export const RECORD_KINDS: readonly JobRecord['kind'][] = KINDS;

/** Format of journals that this version writes; it reads all formats up to this one. */
export const FORMAT = 1;

const CRC_BYTES = 4;

const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  skipValues: [undefined],
  useToJSON: false,
  int64AsType: 'number',
} as ConstructorParameters<typeof Packr>[0]);

/** The bytes are not a record: they were lost, changed, or never were one. */
export class BadRecordError extends Error {
  override name = 'BadRecordError';
}

export function encodeRecord(record: JobRecord): Buffer {
  const { kind, job, at } = record;
  const fields = FIELDS[kind]!;
  const values = fields.map((name) => {
    const value = (record as unknown as Record<string, unknown>)[name];
    return name === 'spec' ? plainSpec(value as JobSpec) : value;
  });
  values.length = 1 + values.findLastIndex((value) => value !== undefined);
  const bytes = packr.pack([KINDS.indexOf(kind), job, at, ...values], RESERVE_START_SPACE | CRC_BYTES);
  bytes.writeUInt32LE(crc32(bytes.subarray(CRC_BYTES)), 0);
  return bytes;
}

/** Larger records are decoded part by part. Bytes. */
const LARGE_BYTES = 1024 * 1024;
/**
 * Maximum fraction of the heap for one record: more than the total of jobs that a scheduler with the same heap
 * accepts.
 */
const RECORD_HEAP_SHARE = 0.4;

/** Fields that every record has. */
export type RecordHead = Pick<JobRecord, 'kind' | 'job' | 'at'>;

/**
 * @param heapMax estimated heap size that the record may take; default: a fraction of this process's heap
 * @throws BadRecordError for an invalid record, or one that exceeds the limit
 */
export function decodeRecord(bytes: Buffer, heapMax?: number): JobRecord {
  const packed = checked(bytes);
  if (packed.length <= LARGE_BYTES) return recordOf(unpack(packed));
  const most = heapMax ?? RECORD_HEAP_SHARE * getHeapStatistics().heap_size_limit;
  return recordOf(readingPacked(() => new LargeRecord(packed, unpackPart, most).values(fieldAt)));
}

/** Decodes a record without the content of large ones, which is only validated. @throws BadRecordError */
export function decodeHead(bytes: Buffer): RecordHead {
  const packed = checked(bytes);
  if (packed.length <= LARGE_BYTES) return recordOf(unpack(packed));
  // Only lists of payloads are large; they are not checked.
  const large = new LargeRecord(packed, unpackPart, Number.POSITIVE_INFINITY, () => []);
  const { kind, job, at } = recordOf(readingPacked(() => large.values(fieldAt)));
  return { kind, job, at };
}

/** Yields the record as a line of JSON that begins with its job's id, in chunks. @throws BadRecordError */
export function* jsonOf(bytes: Buffer, id: (head: RecordHead) => string): Iterable<string> {
  const packed = checked(bytes);
  if (packed.length <= LARGE_BYTES) {
    const record = recordOf(unpack(packed));
    yield `${exportedJson({ id: id(record), ...record })}\n`;
    return;
  }
  // Lists of payloads are replaced by marks, and then written one payload at a time.
  const mark = randomUUID();
  const lists: PackedList[] = [];
  const large = new LargeRecord(
    packed,
    unpackPart,
    Number.POSITIVE_INFINITY,
    (list) => `${mark} ${lists.push(list) - 1}`,
  );
  const record = readingPacked(() => withFullSpec(fieldsOf(large.values(fieldAt))));
  const [start = '', ...rest] = exportedJson({ id: id(record), ...record }).split(`"${mark} `);
  yield start;
  for (const part of rest) {
    const after = part.indexOf('"');
    yield '[';
    let before: unknown;
    let text = '';
    let chunk = '';
    for (const payload of large.payloadsOf(lists[Number(part.slice(0, after))]!)) {
      if (text === '' || payload !== before) text = exportedJson(payload);
      if (chunk.length > CHUNK_LENGTH) {
        yield chunk;
        chunk = '';
      }
      chunk += before === undefined ? text : `,${text}`;
      before = payload;
    }
    yield `${chunk}]${part.slice(after + 1)}`;
  }
  yield '\n';
}

/** Characters. */
const CHUNK_LENGTH = 64 * 1024;

const HEAD_FIELDS = 3;

function checked(bytes: Buffer): Buffer {
  if (bytes.length <= CRC_BYTES) throw new BadRecordError(`${bytes.length} bytes are too few for a record`);
  const packed = bytes.subarray(CRC_BYTES);
  if (crc32(packed) !== bytes.readUInt32LE(0)) throw new BadRecordError('the checksum is wrong');
  return packed;
}

function headOf(values: readonly unknown[]): RecordHead {
  const [, job, at] = values;
  const kind = KINDS[values[0] as number];
  if (kind === undefined) throw new BadRecordError(`unknown record kind ${String(values[0])}`);
  if (!Number.isSafeInteger(job) || typeof at !== 'number')
    throw new BadRecordError('it has no job or no time');
  return { kind, job, at } as RecordHead;
}

function recordOf(values: readonly unknown[]): JobRecord {
  const fields = fieldsOf(values);
  const field = impossibleField(fields);
  if (field !== undefined) throw new BadRecordError(`its field ${field} has an impossible value`);
  return withFullSpec(fields);
}

function withFullSpec(record: Record<string, unknown>): JobRecord {
  if (record.kind === 'accepted') record.spec = fullSpec(record.spec as JobSpec);
  return record as unknown as JobRecord;
}

function fieldsOf(values: readonly unknown[]): Record<string, unknown> {
  const head = headOf(values);
  const record: Record<string, unknown> = { ...head };
  FIELDS[head.kind]!.forEach((name, index) => {
    record[name] = values[index + HEAD_FIELDS] ?? undefined;
  });
  return record;
}

/** Returns the field of a record at this place if it may contain payloads. */
function fieldAt(place: number, before: readonly unknown[]): string | undefined {
  const kind = KINDS[before[0] as number];
  if (kind !== 'accepted' && kind !== 'appended') return undefined;
  return FIELDS[kind]![place - HEAD_FIELDS];
}

function readingPacked<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof PackedError || cause instanceof TooLargeError)
      throw new BadRecordError(cause.message, { cause });
    throw cause;
  }
}

function unpackPart(packed: Buffer): unknown {
  try {
    return packr.unpack(packed);
  } catch (cause) {
    throw new BadRecordError((cause as Error).message, { cause });
  }
}

function unpack(packed: Buffer): unknown[] {
  const values = unpackPart(packed);
  if (!Array.isArray(values)) throw new BadRecordError('it is not a list of fields');
  return values;
}

/** Converts typed arrays of run times to lists, because MessagePack has no typed arrays. */
function plainSpec(spec: JobSpec): unknown {
  const stages = spec.stages.map(({ tasks, ...stage }) => ({
    ...stage,
    tasks: 'sleepsMs' in tasks ? { sleepsMs: Array.from(tasks.sleepsMs) } : tasks,
  }));
  return { ...spec, stages };
}

/** Restores fields that were omitted because they were `undefined`. */
function fullSpec(spec: JobSpec): JobSpec {
  return {
    ...NOT_GIVEN,
    ...spec,
    stages: spec.stages.map((stage) => ({ ...stage, demand: orNone(stage.demand) })),
  };
}

/** Returns `NO_RESOURCES` for an empty demand, because machines compare it by identity. */
function orNone(demand: Resources): Resources {
  return Object.keys(demand).length === 0 ? NO_RESOURCES : demand;
}

const NOT_GIVEN = {
  user: undefined,
  estimateMs: undefined,
  timeoutMs: undefined,
  maxRunning: undefined,
  deadlineMs: undefined,
};
