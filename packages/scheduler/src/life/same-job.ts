import type { JobSpec } from '@goshawk/core';

/**
 * Whether two submissions are equal. Absent and `undefined` fields are equal, and a retry may have a different
 * tracing span, or come from another attempt of the task that submitted it.
 */
export function isSameJob(a: JobSpec, b: JobSpec): boolean {
  const any = { traceparent: undefined, parent: undefined };
  return isDeepEqual({ ...a, ...any }, { ...b, ...any });
}

function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (isColumn(a) || isColumn(b)) return isColumn(a) && isColumn(b) && isSameColumn(a, b);
  return [a, b].every((one) =>
    Object.keys(one).every((name) => isDeepEqual((a as Fields)[name], (b as Fields)[name])),
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Arrays, typed arrays, and bytes. */
function isColumn(value: object): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function isSameColumn(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!isDeepEqual(a[i], b[i])) return false;
  return true;
}
