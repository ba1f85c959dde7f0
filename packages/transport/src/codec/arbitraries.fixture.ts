/**
 * For property tests: messages drawn from the table's own descriptions, so that a new message or field is
 * tested by being declared.
 */
import {
  CLASSES,
  DEFAULT_POLICY,
  type FieldKind,
  type Fields,
  LIMITS,
  LIVE_TIMINGS,
  MESSAGES,
  type Message,
  type MessageType,
  NO_RESOURCES,
  onlyCounts,
  PRESETS,
  parseClusterSettings,
  ROUTES,
  readAmounts,
} from '@goshawk/core';
import fc from 'fast-check';

/** Any message of a type whose addresses are drawn from `addresses`. */
export function messageOfType(type: MessageType, addresses: readonly number[]): fc.Arbitrary<Message> {
  const fields: Fields = MESSAGES[type].fields;
  return record({ type: fc.constant(type), ...arbitrariesOf(fields, addresses) }) as fc.Arbitrary<Message>;
}

/** Draws such a message; the same seed gives the same message. */
export function drawnMessage(type: MessageType, addresses: readonly number[], seed: number): Message {
  return fc.sample(messageOfType(type, addresses), { seed, numRuns: 1 })[0]!;
}

/** JSON-like values and bytes, as `open` fields carry them. */
const openValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    number(),
    fc.string({ unit: 'binary' }),
    fc.uint8Array(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key(), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

function arbitrariesOf(fields: Fields, addresses: readonly number[]): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, fieldValue(field, addresses)]),
  );
}

function fieldValue(field: FieldKind, addresses: readonly number[]): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'count':
      return field.max === undefined
        ? fc.oneof(fc.nat(), fc.maxSafeNat())
        : fc.integer({ min: field.min ?? 0, max: field.max });
    case 'integer':
      return fc.oneof(fc.integer(), fc.maxSafeInteger());
    case 'number':
      return number();
    case 'signed':
      return fc.oneof(
        number(),
        number().map((value) => 0 - value),
      );
    case 'flag':
      return fc.boolean();
    case 'text':
      return fc.oneof(
        fc
          .string({ unit: 'binary', maxLength: field.lengthMax })
          .filter(({ length }) => length <= field.lengthMax),
        fc.constant('x'.repeat(field.lengthMax)),
      );
    case 'bytes':
      return fc.uint8Array({ maxLength: field.lengthMax });
    case 'address':
      return fc.constantFrom(...addresses);
    case 'resources':
      return fc.oneof(fc.constant(NO_RESOURCES), amounts());
    case 'choice':
      return fc.constantFrom(...field.of);
    case 'optional':
      return fc.option(fieldValue(field.of, addresses), { nil: undefined });
    case 'list':
      return fc.array(fieldValue(field.of, addresses), { maxLength: Math.min(8, field.lengthMax) });
    case 'record':
      return record(arbitrariesOf(field.fields, addresses));
    case 'open':
      return fc.option(openValue, { nil: undefined });
    case 'parsed':
      return parsedValue(field.parse);
  }
}

function record(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(fields, { noNullPrototype: true });
}

/** −0 is 0 on the wire. */
function number(): fc.Arbitrary<number> {
  const finite = fc.double({ min: 0, max: LIMITS.wireMsMax, noNaN: true }).map((value) => value + 0);
  return fc.oneof(fc.nat(), finite);
}

function amounts(): fc.Arbitrary<unknown> {
  const amount = fc.double({ min: 0, max: LIMITS.amountMax, noNaN: true }).map((value) => value + 0);
  return fc.dictionary(
    key().filter(({ length }) => length > 0),
    amount,
    { minKeys: 1, maxKeys: LIMITS.resourcesMax, noNullPrototype: true },
  );
}

function key(): fc.Arbitrary<string> {
  return fc.string({ unit: 'binary' }).filter((text) => text !== '__proto__');
}

/** A parser does not reveal which values it accepts, so each parser of the table has its values here. */
function parsedValue(parse: (value: unknown) => unknown): fc.Arbitrary<unknown> {
  const values = PARSED.get(parse);
  if (values === undefined)
    throw new Error(`arbitraries.fixture.ts knows no values for the parser "${parse.name}"`);
  return values;
}

const route = record({
  by: fc.constantFrom(...ROUTES),
  over: fc.constantFrom('all', 'general', 'short'),
});

const PARSED = new Map<(value: unknown) => unknown, fc.Arbitrary<unknown>>([
  [readAmounts, fc.dictionary(key(), fc.nat(), { noNullPrototype: true })],
  [onlyCounts, fc.dictionary(key(), fc.nat(), { noNullPrototype: true })],
  [
    parseClusterSettings,
    record({
      policy: record({
        ...constants(DEFAULT_POLICY),
        preset: fc.oneof(
          ...Object.values(PRESETS).map((preset) => fc.constant(preset)),
          record({
            ...constants(PRESETS.hawk),
            ...Object.fromEntries(CLASSES.map((name) => [name, route])),
          }),
        ),
        shortPartition: fc.oneof(
          fc.constant('auto'),
          fc.double({ min: 0, max: 1, noNaN: true }).map((v) => v + 0),
        ),
        stealLimit: fc.option(fc.integer({ min: 1 })),
      }),
      timings: fc.constant(LIVE_TIMINGS),
    }),
  ],
]);

function constants(values: object): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fc.constant(value)]));
}
