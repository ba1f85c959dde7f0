import { z } from 'zod';

/**
 * A list that users send. zod describes each faulty element, which takes seconds and gigabytes for the 400,000 that a megabyte
 * can contain; this list stops at the first.
 *
 * @param schemaOf returns a narrower schema for an element, which is faster than to try the options of a union
 */
export function boundedList<T extends z.ZodType>(
  element: T,
  schemaOf?: (value: unknown) => z.core.$ZodType,
): z.ZodArray<T> {
  return new BoundedList({ type: 'array', element, schemaOf }) as z.ZodArray<T>;
}

/** A record that users send, with at most `max` entries. It stops at the first faulty one, as `boundedList` does. */
export function boundedRecord<Value extends z.ZodType>(
  keyType: z.ZodType<string, string>,
  valueType: Value,
  [max, entries]: readonly [max: number, entries: string],
): z.ZodRecord<z.ZodString, Value> {
  const tooMany = `at most ${max} ${entries}`;
  return new BoundedRecord({ type: 'record', keyType, valueType, max, tooMany }) as z.ZodRecord<
    z.ZodString,
    Value
  >;
}

type ListDef = z.core.$ZodArrayDef & {
  readonly schemaOf?: ((value: unknown) => z.core.$ZodType) | undefined;
};
type RecordDef = z.core.$ZodRecordDef & { readonly max: number; readonly tooMany: string };

const BoundedList = z.core.$constructor<z.ZodArray, ListDef>('BoundedList', (schema, def) => {
  const first = new FirstFault();
  const element = plainOf(def.element);
  z.ZodArray.init(schema, { ...def, element: first.watched(element, def.schemaOf) });
  first.resetBy(schema);
  // JSON schemas are made from this definition.
  schema._zod.def = { ...def, element };
});

const BoundedRecord = z.core.$constructor<z.ZodRecord, RecordDef>('BoundedRecord', (schema, def) => {
  const first = new FirstFault();
  const [keyType, valueType] = [plainOf(def.keyType), plainOf(def.valueType)];
  const watched = { keyType: first.watched(keyType), valueType: first.watched(valueType) };
  z.ZodRecord.init(schema, { ...def, ...watched });
  first.resetBy(schema);
  schema._zod.def = { ...def, keyType, valueType };
  const { parse } = schema._zod;
  schema._zod.parse = (payload, context) => {
    if (!hasMoreThan(def.max, payload.value)) return parse(payload, context);
    payload.issues.push({ code: 'custom', input: payload.value, inst: schema, message: def.tooMany });
    return payload;
  };
});

function hasMoreThan(max: number, value: unknown): boolean {
  if (typeof value !== 'object') return false;
  let left = max;
  for (const _ in value) if (left-- === 0) return true;
  return false;
}

/** Element schemas by the ones that are watched; refining a list clones it with these. */
const plain = new WeakMap<z.core.$ZodType, z.core.$ZodType>();

function plainOf<T extends z.core.$ZodType>(schema: T): T {
  return (plain.get(schema) ?? schema) as T;
}

/** Notices the first faulty element of a list or record while it is parsed. */
class FirstFault {
  #isFaulty = false;

  /** The schema of an element, which accepts everything after a fault. */
  watched<T extends z.core.$ZodType>(element: T, schemaOf?: (value: unknown) => z.core.$ZodType): T {
    const run: T['_zod']['run'] = (payload, context) => {
      if (this.#isFaulty) return payload;
      const result = (schemaOf?.(payload.value) ?? element)._zod.run(payload, context);
      if (!(result instanceof Promise) && result.issues.length > 0) this.#isFaulty = true;
      return result;
    };
    const watched = Object.create(element, {
      _zod: { value: Object.create(element._zod, { run: { value: run } }) },
    }) as T;
    plain.set(watched, element);
    return watched;
  }

  /** Begins anew in each list, also in a list within a list of the same schema. */
  resetBy({ _zod }: z.core.$ZodType): void {
    const { parse } = _zod;
    _zod.parse = (payload, context) => {
      const outer = this.#isFaulty;
      this.#isFaulty = false;
      try {
        return parse(payload, context);
      } finally {
        this.#isFaulty = outer;
      }
    };
  }
}
