import { MESSAGE_TYPES, MESSAGES, type Role } from '@goshawk/core';

interface Ways {
  readonly from: readonly Role[];
  readonly to: readonly Role[];
}

const WAYS: readonly Ways[] = MESSAGE_TYPES.map((type) => MESSAGES[type]);

/**
 * Why a message of this code may not go this way: `a client may not send it, only a scheduler`. `undefined`
 * when it may, or when it is not known who the two are.
 */
export function roleProblem(code: number, from: Role | undefined, to: Role | undefined): string | undefined {
  const ways = WAYS[code]!;
  if (from !== undefined && !ways.from.includes(from)) {
    return `a ${from} may not send it, only a ${ways.from.join(' or a ')}`;
  }
  if (to !== undefined && !ways.to.includes(to)) {
    return `a ${to} may not be sent it, only a ${ways.to.join(' or a ')}`;
  }
  return undefined;
}
