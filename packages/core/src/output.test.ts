import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { eventPage, eventTable } from './cluster-view.js';
import {
  doc,
  type Field,
  type FieldKind,
  flag,
  list,
  optional,
  record,
  text,
  view,
} from './fields/fields.js';
import { ms } from './fields/records.js';
import { centralLine, jobExplanation, waitingGroup } from './job/explanation.js';
import { jobsJson, jobsTable, jobTable, resultJson, resultKind, taskTable } from './job/json.js';
import { usageBooks, usageRowTable } from './job/usage.js';
import { jobDetail, jobSummary, resultPage, taskPage } from './job/view.js';
import { waitingTable, whyJson, whyTable } from './job/why-json.js';
import * as json from './output.js';

/** Draws values of a field. */
function drawn<T>(field: Field<T>): fc.Arbitrary<T> {
  return ofKind(field) as fc.Arbitrary<T>;
}

function ofKind(field: FieldKind): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'count':
      return fc.nat(field.max ?? 1_000_000);
    case 'integer':
      return fc.integer();
    case 'number':
      return fc.double({ min: 0, max: 1e13, noNaN: true });
    case 'signed':
      return fc.double({ min: -1e13, max: 1e13, noNaN: true });
    case 'flag':
      return fc.boolean();
    case 'text':
    case 'address':
      return fc.string({ maxLength: 8 });
    case 'bytes':
      return fc.uint8Array({ maxLength: 8 });
    case 'choice':
      return fc.constantFrom(...field.of);
    case 'optional':
      return fc.option(ofKind(field.of), { nil: undefined });
    case 'list':
      return fc.array(ofKind(field.of), { maxLength: 3 });
    case 'record':
      return fc.record(Object.fromEntries(Object.entries(field.fields).map(([n, of]) => [n, ofKind(of)])));
    case 'resources':
    case 'parsed':
      return fc.dictionary(fc.constantFrom('cpu', 'memory', 'gpu'), fc.nat());
    case 'open':
      return fc.jsonValue();
  }
}

const NOW = 1_700_000_000_000;

/** Checks that the JSON of values has each field of a schema, no others, and their types. */
function checkOf(schema: z.ZodType): (value: unknown) => void {
  const published = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' });
  const strict = z.fromJSONSchema(published as never);
  return (value) => {
    const { error } = strict.safeParse(JSON.parse(JSON.stringify(value)));
    if (error !== undefined) throw error;
  };
}

it('what a table builds has the schema of the table', () => {
  const now = NOW;
  const check = checkOf(jobTable.object());
  fc.assert(
    fc.property(drawn(jobDetail), (job) => check(jobTable.json(job, { now, submittedAt: job.submittedAt }))),
  );
  const jobs = checkOf(jobsTable.object());
  fc.assert(
    fc.property(fc.array(drawn(jobSummary), { maxLength: 3 }), (found) => {
      const counts = { total: 0, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
      const lists = { silent: ['s'], warnings: [], quotas: [{ waiting: 1, max: 2, scheduler: 's' }] };
      const listed = { jobs: found, total: 9, truncated: true, counts, ...lists };
      jobs(jobsJson(listed, { now }));
      jobs(jobsJson(listed, { now, cutoff: null }));
      jobs(jobsJson(listed, { now, cutoff: { cutoffMs: 1, cutoffJobs: 0 } }));
    }),
  );
  const why = checkOf(whyTable.object());
  const explained = fc
    .tuple(drawn(jobExplanation), fc.option(drawn(centralLine), { nil: undefined }))
    .map(([job, central]) => ({ ...job, central }));
  fc.assert(fc.property(explained, (job) => why(whyJson(job, { now, cutoff: undefined }))));
  const waits = checkOf(waitingTable.object());
  fc.assert(
    fc.property(fc.array(drawn(waitingGroup)), drawn(centralLine), (waiting, central) =>
      waits(waitingTable.json({ waiting, central, silent: [] }, undefined)),
    ),
  );
  const tasks = checkOf(taskTable.object());
  fc.assert(
    fc.property(drawn(taskPage), (page) => {
      for (const task of page.tasks) tasks(taskTable.json(task, page));
    }),
  );
  const results = checkOf(resultKind.schema());
  fc.assert(
    fc.property(drawn(resultPage), (page) => {
      for (const result of page.tasks ?? []) results(resultJson('a-1', result));
    }),
  );
  const rows = checkOf(usageRowTable.object());
  fc.assert(
    fc.property(drawn(usageBooks), (books) => {
      for (const { day = 0, ...row } of books.flatMap((book) => book.rows))
        rows(usageRowTable.json({ row: { ...row, day: day % 1_000_000 }, by: ['user', 'day'] }, undefined));
    }),
  );
  const events = checkOf(eventTable.object());
  fc.assert(
    fc.property(drawn(eventPage), (page) => {
      for (const event of page.events) events(eventTable.json(event, undefined));
    }),
  );
});

const trip = view({
  name: text(9),
  from: optional(text(9)),
  isLate: optional(flag),
  stops: list(record({ at: text(9), delayed: optional(flag) }), 9),
  lengthMs: ms,
});
type Trip = NonNullable<(typeof trip)['infer']>;

const tripTable = json.table<Trip, { readonly now: number }>()((of) => ({
  ...json.same(trip, 'name', 'from', 'isLate', 'stops'),
  lengthSeconds: doc(
    'Length of the trip.',
    of(json.seconds, ({ lengthMs }) => lengthMs),
  ),
  endsAt: of(json.time, ({ lengthMs }, { now }) => now + lengthMs),
  note: of(json.omitted(json.text), ({ from }) => from),
}));

it('a field is declared once: its JSON, its type, its schema and its documentation', () => {
  const built = tripTable.json(
    { name: 'n', stops: [{ at: 'x', delayed: undefined }], lengthMs: 1_500 },
    { now: 0 },
  );
  const typed: {
    name: string;
    from: string | null;
    isLate: boolean;
    stops: readonly { at: string; delayed: boolean }[];
    lengthSeconds: number;
    endsAt: string;
    note?: string;
  } = built;
  const back: typeof built = typed;
  expect(back).toEqual({
    name: 'n',
    from: null,
    isLate: false,
    stops: [{ at: 'x', delayed: false }],
    lengthSeconds: 1.5,
    endsAt: '1970-01-01T00:00:01.500Z',
  });
  expect(z.toJSONSchema(tripTable.object())).toMatchObject({
    properties: { lengthSeconds: { type: 'number', description: 'Length of the trip.' } },
    required: ['name', 'from', 'isLate', 'stops', 'lengthSeconds', 'endsAt'],
  });
});

it('a duration needs a source that says its unit', () => {
  expect(() => json.same(trip, 'lengthMs')).toThrow('needs a source');
});

it('a field with neither a source nor a property of the same name does not compile', () => {
  // @ts-expect-error: trips have no color
  json.table<Trip>()(() => ({ color: json.text }));
  // @ts-expect-error: a duration is not a text
  json.table<Trip>()((of) => ({ name: of(json.text, ({ lengthMs }) => lengthMs) }));
});
