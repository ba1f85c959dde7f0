import type { Attribute } from './fields/records.js';

/** Properties of a worker, such as its rack, by name; or what a job wishes for. */
export type Attributes = Readonly<Record<string, string>>;

/** As messages list them, by name. */
export function attributesByName(listed: readonly Attribute[]): Attributes {
  // Thousands of workers have none.
  return listed.length === 0
    ? NO_ATTRIBUTES
    : Object.fromEntries(listed.map(({ name, value }) => [name, value]));
}

/** Whether all that is wished for is there. Several values of which one will do are joined by commas. */
export function meetsWishes(wishes: Attributes, attributes: Attributes): boolean {
  for (const name in wishes) {
    const wish = wishes[name]!;
    const value = attributes[name];
    // Asked for each worker: most wishes are of one value.
    if (value === undefined || !(wish.includes(',') ? wish.split(',').includes(value) : wish === value))
      return false;
  }
  return true;
}

/** Something that may need more of a worker than room. */
export interface Requiring {
  /** Attributes that a worker must have; absent: any will do. */
  readonly requires?: Attributes | undefined;
}

/** Whether a worker has the attributes that tasks require, regardless of room. The only place that decides this. */
export function mayRun(
  { attributes }: { readonly attributes?: Attributes | undefined },
  { requires }: Requiring,
): boolean {
  return requires === undefined || meetsWishes(requires, attributes ?? NO_ATTRIBUTES);
}

const NO_ATTRIBUTES: Attributes = {};

/** As messages carry what is required, one object for each. */
export function requiresOf(listed: readonly Attribute[] | undefined): Attributes | undefined {
  return listed === undefined ? undefined : attributesByName(listed);
}

/** For messages, in the order of the object; undefined where there is nothing to be said. */
export function listAttributes(attributes: Attributes | undefined): readonly Attribute[] | undefined {
  return attributes && Object.entries(attributes).map(([name, value]) => ({ name, value }));
}

/** `rack=r1,r2 zone=a` */
export function formatAttributes(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
