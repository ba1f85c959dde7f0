import { jsonExcess } from '@goshawk/core';
import { quote, quoteJson, WorkloadError } from '../errors.js';
import type { MachineShare } from '../job.js';
import { type PackedJobs, packed } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { decimal } from './fields.js';
import { beginningOf, readLineBatches } from './files.js';
import { EventType, type JobEvent, type TaskEvent } from './google2011/events.js';
import { Join } from './google2011/join.js';
import {
  checkHeader,
  checkLength,
  checkNotHeader,
  columnName,
  type Row,
  readRecords,
  tallyUnread,
} from './table.js';
import type { TraceFormat } from './trace-format.js';

/** Event types of 2019 by number, with those of 2011 that mean the same to a reader of run times. */
const TYPES: readonly (readonly [name: string, type: EventType])[] = [
  ['SUBMIT', EventType.submit],
  ['QUEUE', EventType.updatePending],
  ['ENABLE', EventType.updatePending],
  ['SCHEDULE', EventType.schedule],
  ['EVICT', EventType.evict],
  ['FAIL', EventType.fail],
  ['FINISH', EventType.finish],
  ['KILL', EventType.kill],
  ['LOST', EventType.lost],
  ['UPDATE_PENDING', EventType.updatePending],
  ['UPDATE_RUNNING', EventType.updateRunning],
];

/** Fields of a row, and their names in exports. The first four are needed. */
const NAMES = {
  time: ['time'],
  type: ['type', 'instance_events_type'],
  collection: ['collection_id'],
  instance: ['instance_index'],
  collectionType: ['collection_type'],
  schedulingClass: ['scheduling_class'],
  cpus: ['resource_request.cpus', 'resource_request_cpus'],
  memory: ['resource_request.memory', 'resource_request_memory'],
  /** Both amounts in one cell, as a data frame prints them: `{'cpus': 0.02, 'memory': 0.01}`. */
  request: ['resource_request'],
  user: ['user'],
  name: ['collection_name'],
  logicalName: ['collection_logical_name'],
} as const;
type Field = keyof typeof NAMES;

const FIELDS = Object.keys(NAMES) as Field[];
const NEEDED = ['time', 'type', 'collection', 'instance'] as const satisfies Field[];
/** More events would not fit into memory, where they are sorted. */
const EVENTS_MAX = 1_500_000;
/** `collection_type` of an alloc set, which reserves room and runs nothing. */
const ALLOC_SET = 1;
const JSON_KEYS = [/"collection_id"\s*:/, /"instance_index"\s*:/];

/**
 * `instance_events` of the 2019 Google trace, in one file: CSV with a header, as exported from BigQuery, or a JSON
 * object per line, as in the bucket. A job is submitted with the first event of its instances.
 */
export const google2019 = {
  name: 'google2019',
  sample: 'instance_events.csv',
  aJob: 'no job has an instance that was scheduled and finished after the trace began (time 0)',
  endings: [],
  recognises: (firstLine) =>
    firstLine.startsWith('{')
      ? JSON_KEYS.every((key) => key.test(firstLine))
      : NEEDED.every((field) => placeOf(headerCells(firstLine), field) >= 0),
  read: readGoogle2019,
} as const satisfies TraceFormat;

/** Facts of a collection, which each of its rows repeats. */
type Facts = Omit<JobEvent, 'timeUs' | 'job' | 'type'>;

/** @throws WorkloadError with file and line at the first invalid row */
async function* readGoogle2019(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const first = await beginningOf(file);
  const rows = first?.text.startsWith('{') ? objectsOf(file, signal) : rowsOf(file, tally, signal);
  const events: TaskEvent[] = [];
  const facts = new Map<number, Facts>();
  for await (const source of rows) {
    const event = eventOf(source, tally);
    if (event === undefined) continue;
    events.push(event);
    if (!facts.has(event.job)) facts.set(event.job, factsOf(source));
    if (events.length <= EVENTS_MAX) continue;
    throw new WorkloadError(
      `the file has more than ${EVENTS_MAX} events`,
      'use fewer collections: their events need to be sorted in memory',
      { file, line: source.line },
    );
  }
  // Exports are in no particular order; an instance is submitted, then scheduled, then ends.
  events.sort((one, other) => one.timeUs - other.timeUs || one.type - other.type);
  const join = new Join(tally);
  for (const event of events) join.onSampledTaskEvent(event, facts.get(event.job)!);
  join.onEnd();
  yield packed(join.take());
}

/** A row, or an object on a line. */
interface Source {
  readonly file: string;
  readonly line: number;
  value(field: Field): unknown;
  /** Index of a field's column, from 0. */
  readonly columns?: ReadonlyMap<Field, number>;
}

async function* rowsOf(file: string, tally: Tally, signal?: AbortSignal): AsyncGenerator<Source> {
  let header: Row | undefined;
  let places: ReadonlyMap<Field, number> | undefined;
  for await (const row of readRecords(file, { delimiter: ',', hasQuotes: true }, signal)) {
    if (header === undefined || places === undefined) {
      header = row;
      checkHeader(row, (name) => name.toLowerCase());
      const names = row.cells.map((name) => name.toLowerCase());
      places = new Map(FIELDS.map((field) => [field, placeOf(names, field)]));
      const read = new Set(places.values());
      tallyUnread(
        tally,
        row.cells.flatMap((name, place) => (read.has(place) ? [] : [name || `column ${place + 1}`])),
      );
      continue;
    }
    checkLength(row, header.cells.length);
    checkNotHeader(row, header.cells);
    const known = places;
    yield { file, line: row.line, columns: known, value: (field) => row.cells[known.get(field)!] };
  }
}

async function* objectsOf(file: string, signal?: AbortSignal): AsyncGenerator<Source> {
  let line = 0;
  for await (const batch of readLineBatches(file, signal)) {
    for (const text of batch) {
      line++;
      if (text.trim() === '') continue;
      const object = parsed(text, file, line);
      yield { file, line, value: (field) => valueIn(object, field) };
    }
  }
}

/** More than any row has. */
const KEYS_MAX = 10_000;

function parsed(text: string, file: string, line: number): Readonly<Record<string, unknown>> {
  const excess = jsonExcess(text, { keysMax: KEYS_MAX });
  if (excess !== undefined)
    throw new WorkloadError(`the line is not a row: ${excess}`, 'copy or export the file again', {
      file,
      line,
    });
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new WorkloadError('the line is not a JSON object', 'copy or export the file again', { file, line });
}

function valueIn(object: Readonly<Record<string, unknown>>, field: Field): unknown {
  for (const name of NAMES[field]) {
    const [outer, inner] = name.split('.') as [string, string?];
    const value = object[name];
    if (value !== undefined && typeof value !== 'object') return value;
    const record = object[outer];
    if (inner !== undefined && typeof record === 'object' && record !== null)
      return (record as Readonly<Record<string, unknown>>)[inner];
  }
  return undefined;
}

/** Returns undefined for an instance of an alloc set. */
function eventOf(source: Source, tally: Tally): TaskEvent | undefined {
  if (countAt(source, 'collectionType') === ALLOC_SET) {
    tally.add({ code: 'alloc-sets', what: 'events of alloc sets, which run nothing: omitted' });
    return undefined;
  }
  return {
    timeUs: countAt(source, 'time') ?? wrong(source, 'time', MUST_BE_INTEGER),
    job: countAt(source, 'collection') ?? wrong(source, 'collection', MUST_BE_INTEGER),
    task: countAt(source, 'instance') ?? wrong(source, 'instance', MUST_BE_INTEGER),
    type: typeAt(source),
    request: requestAt(source),
  };
}

function factsOf(source: Source): Facts {
  return {
    user: textAt(source, 'user'),
    name: textAt(source, 'name'),
    logicalName: textAt(source, 'logicalName'),
    schedulingClass: countAt(source, 'schedulingClass'),
  };
}

function textAt(source: Source, field: Field): string {
  return String(source.value(field) ?? '').slice(0, 256);
}

const MUST_BE_INTEGER = 'it must be a whole number';

/** Returns undefined for an empty field, and NaN for what is not a number. */
function numberAt(source: Source, field: Field): number | undefined {
  const value = source.value(field);
  return value === undefined || value === null || value === '' ? undefined : decimal(String(value));
}

/** Times after the trace, 2^63 − 1, are approximate. */
function countAt(source: Source, field: Field): number | undefined {
  const number = numberAt(source, field);
  if (number === undefined) return undefined;
  if (field === 'collection' && /e/i.test(String(source.value(field))))
    return wrong(
      source,
      field,
      'it must be a whole number; a spreadsheet has rounded it, so export the trace again',
    );
  if (Number.isInteger(number) && number >= 0) return number;
  return wrong(source, field, MUST_BE_INTEGER);
}

function typeAt(source: Source): EventType {
  const value = String(source.value('type') ?? '').toUpperCase();
  const type = TYPES[decimal(value)] ?? TYPES.find(([name]) => name === value);
  return type?.[1] ?? wrong(source, 'type', `it must be a number from 0 to ${TYPES.length - 1}`);
}

function requestAt(source: Source): MachineShare | undefined {
  const printed = source.value('request');
  const [cpu, memory] = (['cpus', 'memory'] as const).map((field) => {
    const inCell = typeof printed === 'string' ? decimal(amountIn(printed, field)) : Number.NaN;
    const share = numberAt(source, field) ?? (Number.isNaN(inCell) ? 0 : inCell);
    return share >= 0 && share <= 1
      ? share
      : wrong(source, field, 'it must be a share of the largest machine, from 0 to 1');
  });
  return cpu === 0 && memory === 0 ? undefined : { cpu: cpu!, memory: memory!, disk: 0 };
}

/** The amount in a printed record; empty if there is none. */
function amountIn(printed: string, field: 'cpus' | 'memory'): string {
  return new RegExp(`['"]?${field}['"]?\\s*[:=]\\s*([^,}\\s]+)`).exec(printed)?.[1] ?? '';
}

function wrong(source: Source, field: Field, advice: string): never {
  const value = source.value(field);
  const column = source.columns?.get(field);
  const name = NAMES[field][0];
  const what = column === undefined ? `the ${name}` : `column ${column + 1}, the ${name},`;
  const shown = column === undefined ? quoteJson(value) : quote(String(value));
  const is = value === undefined || value === '' ? 'missing' : shown;
  throw new WorkloadError(`${what} is ${is}`, advice, source);
}

function headerCells(header: string): string[] {
  return header.toLowerCase().split(',').map(columnName);
}

function placeOf(names: readonly string[], field: Field): number {
  return names.findIndex((name) => (NAMES[field] as readonly string[]).includes(name));
}
