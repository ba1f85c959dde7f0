import { InputError, type Needs } from '@goshawk/core';
import type { ClusterView, JobView, RunView, StageView, WorkerView } from './contract.js';

type FunctionsOf<View> = View extends unknown
  ? { [Key in keyof View]-?: View[Key] extends (...args: never[]) => unknown ? Key : never }[keyof View]
  : never;

/** The functions of the contract's views. A missing one does not compile. */
const OF_VIEWS: Readonly<
  Record<FunctionsOf<ClusterView | JobView | StageView | WorkerView | RunView | Needs>, true>
> = {
  roomFor: true,
  attainedMs: true,
  runningAt: true,
  pausedMs: true,
  parentOf: true,
  permits: true,
};

/** The functions that policies may call. Others, such as those of the books, change what they belong to. */
const CALLABLE: ReadonlySet<string | symbol> = new Set<string | symbol>([
  ...Object.keys(OF_VIEWS),
  ...['next', 'return', 'toJSON', 'toString', 'toLocaleString', 'valueOf'],
  ...['hasOwnProperty', 'propertyIsEnumerable', 'isPrototypeOf', Symbol.iterator],
]);
/** The functions of maps, sets and typed arrays that change nothing. */
const READING: ReadonlySet<string | symbol> = new Set<string | symbol>([
  ...[
    'get',
    'has',
    'keys',
    'values',
    'entries',
    'forEach',
    'at',
    'slice',
    'subarray',
    'indexOf',
    'includes',
    'join',
  ],
  ...['map', 'filter', 'find', 'findIndex', 'some', 'every', 'reduce', 'toString', Symbol.iterator],
]);

type Called = (...args: unknown[]) => unknown;

/**
 * Gives a custom policy views that it can read and not write. A view is a proxy of the books' object, the same for the same
 * object, so that identities and map keys work. Built-in policies get the objects themselves and pay nothing.
 */
export class ReadOnlyViews {
  readonly #views = new WeakMap<object, object>();
  readonly #targets = new WeakMap<object, object>();
  readonly #handler: ProxyHandler<object>;

  constructor() {
    const refuse = (target: object, key?: string | symbol): never => {
      const what = key === undefined ? 'a view' : `${String(key)} of ${nameOf(target)}`;
      throw new TypeError(`a policy cannot change ${what}; it plans through the draft`);
    };
    this.#handler = {
      get: (target, key, view) => this.#read(target, key, view),
      set: refuse,
      deleteProperty: refuse,
      defineProperty: refuse,
      setPrototypeOf: (target) => refuse(target),
      preventExtensions: (target) => refuse(target),
      getOwnPropertyDescriptor: (target, key) => {
        const found = Reflect.getOwnPropertyDescriptor(target, key);
        return found && 'value' in found ? { ...found, value: this.of(found.value) } : found;
      },
    };
  }

  /** Returns the view of a value; primitive values are their own views. */
  of<T>(value: T): T {
    if (typeof value !== 'object' || value === null) return value;
    if (this.#targets.has(value)) return value;
    let view = this.#views.get(value);
    if (view === undefined) {
      view = new Proxy(Object.isExtensible(value) ? value : unfrozen(value), this.#handler);
      this.#views.set(value, view);
      this.#targets.set(view, value);
    }
    return view as T;
  }

  /** Returns the object behind a view. @throws InputError for anything else, which the books must not receive */
  behind<T extends object>(view: T, what: string): T {
    const target = typeof view === 'object' && view !== null ? this.#targets.get(view) : undefined;
    if (target !== undefined) return target as T;
    throw new InputError('bad-policy', `${what}: it was not given by \`cluster\` or \`changes\``);
  }

  #read(target: object, key: string | symbol, view: unknown): unknown {
    const value: unknown = Reflect.get(target, key, target);
    if (typeof value === 'object') return this.of(value);
    if (typeof value !== 'function') return value;
    // Array methods work on the view itself, whose elements are views, and which refuses changes.
    if (Array.isArray(target)) return value;
    if (key === 'constructor') return value;
    const isBuiltIn = target instanceof Map || target instanceof Set || ArrayBuffer.isView(target);
    if (!(isBuiltIn ? READING : CALLABLE).has(key)) return undefined;
    return (...args: unknown[]) =>
      this.of(
        (value as Called).apply(
          target,
          args.map((arg) => this.#argument(arg, view)),
        ),
      );
  }

  /** Objects go in without their proxies, because the books compare them by identity; callbacks get views. */
  #argument(arg: unknown, view: unknown): unknown {
    if (typeof arg === 'function')
      return (...args: unknown[]) =>
        (arg as Called)(...args.map((one) => (one === view ? view : this.of(one))));
    if (Array.isArray(arg)) return arg.map((one) => this.#argument(one, view));
    return typeof arg === 'object' && arg !== null ? (this.#targets.get(arg) ?? arg) : arg;
  }
}

/** A proxy of a frozen object would have to return its nested objects as they are. */
function unfrozen(value: object): object {
  return Array.isArray(value)
    ? [...value]
    : Object.assign(Object.create(Object.getPrototypeOf(value)), value);
}

function nameOf(target: object): string {
  const name = target.constructor?.name ?? '';
  return name.startsWith('Booked') ? `a ${name.slice('Booked'.length).toLowerCase()}` : 'a view';
}
