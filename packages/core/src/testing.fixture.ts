import fc from 'fast-check';

/** Kinds of values that code of users may throw. */
const MAKE = {
  undefined: () => undefined,
  null: () => null,
  text: () => 'lost my way',
  lines: () => 'lost\nmy way',
  'long text': () => 'x'.repeat(100_000),
  NaN: () => Number.NaN,
  bigint: () => 10n,
  symbol: () => Symbol('lost'),
  function: () => () => {},
  object: () => ({ code: 'LOST' }),
  'object without prototype': () => Object.create(null) as object,
  promise: () => Promise.resolve(),
  error: () => new Error('lost my way'),
  'error without text': () => new Error(''),
  'error of a file': () => Object.assign(new Error('lost'), { code: 'ENOENT', syscall: 'open' }),
  'revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy as object;
  },
} as const;

/** The stack is first, because it is formatted from the others when it is replaced. */
const FIELDS = ['stack', 'message', 'name', 'code', 'path', 'syscall', 'cause', 'toString', 'then'] as const;

/** A description of a thrown value, which can be printed. */
export const thrownKinds = fc.record({
  kind: fc.constantFrom(...(Object.keys(MAKE) as (keyof typeof MAKE)[])),
  /** Fields that throw when they are read, or have a value of another type. */
  throwing: fc.subarray([...FIELDS], { maxLength: 2 }),
  odd: fc.subarray([...FIELDS], { maxLength: 2 }),
  isFrozen: fc.boolean(),
});

type ThrownKind = typeof thrownKinds extends fc.Arbitrary<infer Kind> ? Kind : never;

/** Makes a value of the kind. */
export function thrownOf({ kind, throwing, odd, isFrozen }: ThrownKind): unknown {
  const value: unknown = MAKE[kind]();
  if (typeof value !== 'object' || value === null || kind === 'revoked proxy' || kind === 'promise')
    return value;
  for (const field of odd) Object.defineProperty(value, field, { value: 7, configurable: true });
  for (const field of throwing)
    Object.defineProperty(value, field, {
      get: () => {
        throw value;
      },
    });
  return isFrozen ? Object.freeze(value) : value;
}
