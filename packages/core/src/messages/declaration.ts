/** Declares a message of the protocol. */
import type { Field } from '../fields/fields.js';

export const ROLES = ['client', 'scheduler', 'central', 'worker'] as const;
export type Role = (typeof ROLES)[number];

export interface Declaration<F> {
  readonly from: readonly Role[];
  readonly to: readonly Role[];
  /** Effect of losing, duplicating or delaying the message. */
  readonly faults: string;
  readonly fields: F;
}

/** Declares a message. @param faults what happens if it is lost, repeated or late */
export function message<const F extends Record<string, Field<unknown>>>(
  from: Role | readonly Role[],
  to: Role | readonly Role[],
  faults: string,
  fields: F,
): Declaration<F> {
  return {
    from: typeof from === 'string' ? [from] : from,
    to: typeof to === 'string' ? [to] : to,
    faults,
    fields,
  };
}
