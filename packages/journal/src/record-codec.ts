import { crc32 } from 'node:zlib';
import type { JobRecord, JobSpec } from '@goshawk/core';
import { Packr, RESERVE_START_SPACE } from 'msgpackr/index-no-eval';

/**
 * A record as bytes: four of CRC-32 over the rest, then a MessagePack array of kind, job, time and the kind's own
 * fields by position, up to the last that has a value. The order of kinds and fields is the format: add at the end. A field that is added is skipped by
 * who does not know it, and has a value in `decodeRecord` for older records. For anything else, a new kind too, raise
 * `FORMAT`, so that older versions refuse the journal rather than take it for damaged; and read the older ones.
 */
const FIELDS = {
  accepted: ['key', 'spec', 'class', 'classifiedBy', 'route', 'stagesMs'],
  classified: ['class', 'classifiedBy', 'route', 'estimateMs', 'stagesMs'],
  attempt: ['task', 'attempt', 'outcome', 'worker', 'runMs'],
  cancelled: ['reason'],
  ended: ['state'],
  forgotten: [],
  resumed: [],
  declined: ['task', 'attempt'],
  schedulers: ['names'],
  passed: ['after'],
  updated: ['held', 'beginAt', 'priority'],
  retried: ['key', 'choice'],
  appended: ['first', 'tasks', 'digest', 'close'],
  tasksCancelled: ['tasks'],
} as const satisfies Record<JobRecord['kind'], readonly string[]>;

const KINDS = Object.keys(FIELDS) as JobRecord['kind'][];
export const RECORD_KINDS: readonly JobRecord['kind'][] = KINDS;

/** Of journals that this version writes. It reads this one and all before it. 2: `schedulers`; 3: `passed`; 4: `updated`, `retried`, `appended`, `tasksCancelled`. */
export const FORMAT = 4;

const CRC_BYTES = 4;

const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  skipValues: [undefined],
  useToJSON: false,
  int64AsType: 'number',
} as ConstructorParameters<typeof Packr>[0]);

/** The bytes are no record: the disk has lost or changed them, or they never were one. */
export class BadRecordError extends Error {
  override name = 'BadRecordError';
}

export function encodeRecord(record: JobRecord): Buffer {
  const { kind, job, at } = record;
  const fields = FIELDS[kind] as readonly string[];
  const values = fields.map((name) => {
    const value = (record as unknown as Record<string, unknown>)[name];
    return name === 'spec' ? plainSpec(value as JobSpec) : value;
  });
  values.length = 1 + values.findLastIndex((value) => value !== undefined);
  const bytes = packr.pack([KINDS.indexOf(kind), job, at, ...values], RESERVE_START_SPACE | CRC_BYTES);
  bytes.writeUInt32LE(crc32(bytes.subarray(CRC_BYTES)), 0);
  return bytes;
}

/** @throws BadRecordError */
export function decodeRecord(bytes: Buffer): JobRecord {
  if (bytes.length <= CRC_BYTES) throw new BadRecordError(`${bytes.length} bytes are too few for a record`);
  const packed = bytes.subarray(CRC_BYTES);
  if (crc32(packed) !== bytes.readUInt32LE(0)) throw new BadRecordError('the checksum is wrong');
  const values = unpack(packed);
  const kind = KINDS[values[0] as number];
  const [, job, at] = values;
  if (kind === undefined) throw new BadRecordError(`there is no record of kind ${String(values[0])}`);
  if (!Number.isSafeInteger(job) || typeof at !== 'number')
    throw new BadRecordError('it names no job or no time');
  const record: Record<string, unknown> = { kind, job, at };
  (FIELDS[kind] as readonly string[]).forEach((name, index) => {
    const value = values[index + 3] ?? undefined;
    record[name] = name === 'spec' ? fullSpec(value as JobSpec) : value;
  });
  return record as unknown as JobRecord;
}

function unpack(packed: Buffer): unknown[] {
  let values: unknown;
  try {
    values = packr.unpack(packed);
  } catch (cause) {
    throw new BadRecordError((cause as Error).message, { cause });
  }
  if (!Array.isArray(values)) throw new BadRecordError('it is no list of fields');
  return values;
}

/** MessagePack knows lists, but no columns of numbers. */
function plainSpec(spec: JobSpec): unknown {
  const stages = spec.stages.map(({ tasks, ...stage }) => ({
    ...stage,
    tasks: 'sleepsMs' in tasks ? { sleepsMs: Array.from(tasks.sleepsMs) } : tasks,
  }));
  return { ...spec, stages };
}

/** What was `undefined` was not written: those that every spec has are put back. */
function fullSpec(spec: JobSpec): JobSpec {
  return {
    ...NOT_GIVEN,
    ...spec,
    stages: spec.stages.map((stage) => ({ ...stage })),
  };
}

const NOT_GIVEN = {
  user: undefined,
  estimateMs: undefined,
  timeoutMs: undefined,
  maxRunning: undefined,
  deadlineMs: undefined,
};
