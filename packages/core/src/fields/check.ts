import type { Field, FieldKind, Fields } from './fields.js';

/** A part of a value is impossible. */
class ImpossibleError extends Error {
  /** Path of the first such part; empty: the value itself. */
  readonly path: string;

  constructor(path: string) {
    super(`${path === '' ? 'it' : path} has an impossible value`);
    this.path = path;
  }
}

/** A field with values that only a function can check. @param problem see `problemIn` */
export function checkedBy<T>(problem: (value: unknown) => string | undefined): Field<T> {
  return {
    kind: 'parsed',
    parse: (value) => {
      const path = problem(value);
      if (path !== undefined) throw new ImpossibleError(path);
      return value;
    },
  };
}

/**
 * Checks a stored value: its types, and the bounds of its counts. Lengths are not checked, because another version may
 * have had other limits. Unknown fields of records may have any value; null counts as absent, as MessagePack writes it.
 *
 * @returns the path of the first impossible part, such as `stages[1].after`; empty: the value itself; undefined: none
 */
export function problemIn(field: FieldKind, value: unknown): string | undefined {
  switch (field.kind) {
    case 'count': {
      const { min = 0, max = Number.MAX_SAFE_INTEGER } = field;
      return when(Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max);
    }
    case 'integer':
      return when(Number.isSafeInteger(value));
    case 'number':
      return when(Number.isFinite(value) && (value as number) >= 0);
    case 'signed':
      return when(Number.isFinite(value));
    case 'flag':
      return when(typeof value === 'boolean');
    case 'text':
      return when(typeof value === 'string');
    case 'choice':
      return when(field.of.includes(value as string));
    case 'bytes':
      return when(value instanceof Uint8Array);
    case 'address':
      return when(typeof value === 'number');
    case 'resources':
      return when(isMapOf(value, (each) => Number.isFinite(each) && (each as number) >= 0));
    case 'open':
      return undefined;
    case 'optional':
      return value == null ? undefined : problemIn(field.of, value);
    case 'record':
      return problemInFields(field.fields, value);
    case 'list':
      return problemInList(field.of, value);
    case 'parsed':
      try {
        field.parse(value);
        return undefined;
      } catch (error) {
        return error instanceof ImpossibleError ? error.path : '';
      }
  }
}

/** Checks the fields of a record. @returns as `problemIn` */
export function problemInFields(fields: Fields, value: unknown): string | undefined {
  if (!isObject(value)) return '';
  for (const name in fields) {
    const path = problemIn(fields[name]!, value[name]);
    if (path !== undefined) return joined(name, path);
  }
  return undefined;
}

function problemInList(of: FieldKind, value: unknown): string | undefined {
  if (!Array.isArray(value)) return '';
  for (let index = 0; index < value.length; index++) {
    const path = problemIn(of, value[index]);
    if (path !== undefined) return joined(`[${index}]`, path);
  }
  return undefined;
}

/** Whether the value is an object with values that pass. */
export function isMapOf(value: unknown, isPossible: (value: unknown) => boolean): boolean {
  return isObject(value) && Object.values(value).every(isPossible);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function when(isPossible: boolean): string | undefined {
  return isPossible ? undefined : '';
}

function joined(name: string, path: string): string {
  return path === '' || path.startsWith('[') ? name + path : `${name}.${path}`;
}
