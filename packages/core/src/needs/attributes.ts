import type { Attribute } from '../fields/records.js';
import { isMet, spreadIn } from './requirements.js';

/** Attributes by name: those of a worker, such as its rack, or those that a job requires or prefers. */
export type Attributes = Readonly<Record<string, string>>;

/** Converts the list form used in messages to an object by name. */
export function attributesByName(listed: readonly Attribute[]): Attributes {
  // Thousands of workers have no attributes and share one object.
  return listed.length === 0
    ? NO_ATTRIBUTES
    : Object.fromEntries(listed.map(({ name, value }) => [name, value]));
}

/** Whether a worker meets all wishes: requirements, or preferences, which have the same form. */
export function meetsWishes(wishes: Attributes, attributes: Attributes): boolean {
  for (const name in wishes) if (!isMet(wishes[name]!, attributes[name])) return false;
  return true;
}

/** Something that may require attributes of a worker in addition to free resources. */
export interface Requiring {
  /** Attributes that a worker must have; absent: any worker is eligible. */
  readonly requires?: Attributes | undefined;
}

/**
 * Whether a worker has the attributes that a task requires, regardless of its free resources. The only place
 * that decides this.
 */
export function mayRun(
  { attributes }: { readonly attributes?: Attributes | undefined },
  { requires }: Requiring,
): boolean {
  return requires === undefined || meetsWishes(requires, attributes ?? NO_ATTRIBUTES);
}

const NO_ATTRIBUTES: Attributes = {};

/** An attribute over whose values a job spreads its tasks. */
export interface Spread {
  readonly name: string;
  /** Most tasks of the job at workers with the same value. */
  readonly most: number;
}

/** Returns the attributes over which the requirements spread a job; undefined: none. */
export function spreadOf(requires: Attributes | undefined): readonly Spread[] | undefined {
  let spread: Spread[] | undefined;
  for (const name in requires) {
    const most = spreadIn(requires[name]!);
    if (most === undefined) continue;
    spread ??= [];
    spread.push({ name, most });
  }
  return spread;
}

/** Converts requirements from their message form, sharing one object per list. */
export function requiresOf(listed: readonly Attribute[] | undefined): Attributes | undefined {
  return listed === undefined ? undefined : attributesByName(listed);
}

/** Converts attributes to their message form, in the object's order; undefined if there are none. */
export function listAttributes(attributes: Attributes | undefined): readonly Attribute[] | undefined {
  return attributes && Object.entries(attributes).map(([name, value]) => ({ name, value }));
}

/** Formats attributes as `rack=r1,r2 zone=a`. */
export function formatAttributes(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
