import { MESSAGE_TYPES, MESSAGES, type Role } from '@goshawk/core';

interface Directions {
  readonly from: readonly Role[];
  readonly to: readonly Role[];
}

const DIRECTIONS: readonly Directions[] = MESSAGE_TYPES.map((type) => MESSAGES[type]);

/**
 * Returns why this sender may not send this message to this recipient, as in `a client may not send it, only a
 * scheduler`; undefined if it may, or if the roles are unknown.
 */
export function roleProblem(code: number, from: Role | undefined, to: Role | undefined): string | undefined {
  const directions = DIRECTIONS[code]!;
  if (from !== undefined && !directions.from.includes(from)) {
    return `a ${from} may not send it, only a ${directions.from.join(' or a ')}`;
  }
  if (to !== undefined && !directions.to.includes(to)) {
    return `it may not be sent to a ${to}, only to a ${directions.to.join(' or a ')}`;
  }
  return undefined;
}
