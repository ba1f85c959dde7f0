import { type Attribute, amountOf, formatResources, placesOf, type Resources, slotsOf } from '@goshawk/core';

/** What an individual key permits its workers to say about themselves. */
export interface WorkerBounds {
  /** Permitted values of attributes, by name. Of other attributes: any value that is not reserved. */
  readonly attributes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Most that one worker may have; undefined: any. Resources that are not listed: none. */
  readonly capacity?: Resources | undefined;
}

/** The individual keys of a cluster by name, and the values of attributes that are reserved. */
interface Reservations {
  readonly members: ReadonlyMap<string, { readonly bounds: WorkerBounds }>;
  readonly reserved: WorkerBounds['attributes'];
}

/** What a worker says about itself when it joins. */
export interface WorkerClaims {
  readonly attributes: readonly Attribute[];
  readonly capacity: Resources;
  readonly slots: number;
  /** Default: as many as slots. */
  readonly places?: number | undefined;
}

/**
 * Returns in one line why a worker may not join; undefined: it may. A value of an attribute that a key has ever listed is reserved for
 * the keys that list it, so `--require` of that value reaches only their workers, and none once all of them have ended.
 *
 * @param key the individual key of the worker, if it has one
 */
export function boundsProblem(
  { members, reserved }: Reservations,
  key: string | undefined,
  { attributes, capacity, slots, places = slots }: WorkerClaims,
): string | undefined {
  const own = key === undefined ? undefined : members.get(key);
  for (const { name, value } of attributes) {
    const permitted = valuesOf(own?.bounds.attributes, name);
    if (permitted?.includes(value)) continue;
    if (permitted !== undefined || valuesOf(reserved, name)?.includes(value))
      return `its key does not permit the attribute ${name}=${value}`;
  }
  const most = own?.bounds?.capacity;
  if (most === undefined) return undefined;
  // A worker that does not state its CPUs has one per slot.
  const stated: Resources = Object.hasOwn(capacity, 'cpu') ? capacity : { ...capacity, cpu: slots };
  for (const [name, amount] of Object.entries(stated))
    if (amount > amountOf(most, name))
      return `its key permits at most ${differing(name, amountOf(most, name), amount)}`;
  const slotsMost = slotsOf(most);
  if (slots > slotsMost) return `its key permits at most ${slotsMost} slots, not ${slots}`;
  const placesMost = Math.max(slotsMost, placesOf(amountOf(most, 'cpu')));
  return places > placesMost
    ? `its key permits at most ${placesMost} tasks at a time, not ${places}`
    : undefined;
}

/** Two amounts, with all digits if they are equal when rounded. */
function differing(name: string, most: number, amount: number): string {
  const [one, other] = [most, amount].map((each) => formatResources({ [name]: each }));
  return one === other ? `${name} ${most}, not ${name} ${amount}` : `${one}, not ${other}`;
}

function valuesOf(attributes: WorkerBounds['attributes'], name: string): readonly string[] | undefined {
  return attributes !== undefined && Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}

/** Parses the bounds of a key file. @returns what is wrong with them, in a few words */
export function boundsOf(attributes: unknown, capacity: unknown): WorkerBounds | string {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const isValues = (value: unknown): boolean =>
    Array.isArray(value) && value.every((each) => typeof each === 'string');
  if (attributes !== undefined && !(isObject(attributes) && Object.values(attributes).every(isValues)))
    return 'the attributes are not lists of values by name';
  const isAmount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
  if (capacity !== undefined && !(isObject(capacity) && Object.values(capacity).every(isAmount)))
    return 'the capacity is not amounts by name';
  return {
    ...(attributes === undefined ? {} : { attributes: attributes as Record<string, readonly string[]> }),
    ...(capacity === undefined ? {} : { capacity: capacity as Resources }),
  };
}
