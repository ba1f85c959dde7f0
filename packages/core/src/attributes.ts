import type { Attribute } from './messages/records.js';

/** Properties of a worker, such as its rack, by name; or what a job wishes for. */
export type Attributes = Readonly<Record<string, string>>;

/** As messages list them, by name. */
export function attributesByName(listed: readonly Attribute[]): Attributes {
  return Object.fromEntries(listed.map(({ name, value }) => [name, value]));
}

/** Whether all that is wished for is there. Several values of which one will do are joined by commas. */
export function meetsWishes(wishes: Attributes, attributes: Attributes): boolean {
  for (const name in wishes) {
    const value = attributes[name];
    if (value === undefined || !wishes[name]!.split(',').includes(value)) return false;
  }
  return true;
}

/** `rack=r1,r2 zone=a` */
export function formatAttributes(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
