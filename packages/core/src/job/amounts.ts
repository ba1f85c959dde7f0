import { parsed } from '../fields/fields.js';

/** Amounts by name, including sums; no upper limit. */
export const amounts = parsed(readAmounts);

/** @throws Error if the value is anything else */
export function readAmounts(value: unknown): Readonly<Record<string, number>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('expected amounts by name');
  for (const [name, amount] of Object.entries(value)) {
    if (typeof amount !== 'number') throw new Error(`${name}: expected a number`);
  }
  return value as Readonly<Record<string, number>>;
}
