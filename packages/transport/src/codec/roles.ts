import { MESSAGE_TYPES, MESSAGES, type Role } from '@goshawk/core';

interface Ways {
  readonly from: readonly Role[];
  readonly to: readonly Role[];
}

const WAYS: readonly Ways[] = MESSAGE_TYPES.map((type) => MESSAGES[type]);

/**
 * Returns why this sender may not send this message to this recipient, as in `a client may not send it, only a
 * scheduler`; undefined if it may, or if the roles are unknown.
 */
export function roleProblem(code: number, from: Role | undefined, to: Role | undefined): string | undefined {
  const ways = WAYS[code]!;
  if (from !== undefined && !ways.from.includes(from)) {
    return `a ${from} may not send it, only a ${ways.from.join(' or a ')}`;
  }
  if (to !== undefined && !ways.to.includes(to)) {
    return `it may not be sent to a ${to}, only to a ${ways.to.join(' or a ')}`;
  }
  return undefined;
}
