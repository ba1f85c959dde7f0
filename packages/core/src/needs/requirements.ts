import { anyOf } from './any-of.js';
import { noneOf } from './none-of.js';
import type { RequirementKind } from './requirement-kind.js';

/** All kinds, in order of recognition; the last recognizes every text. */
const KINDS: readonly RequirementKind[] = [noneOf, anyOf];

/** Whether a worker whose attribute has this value meets the requirement. */
export function isMet(text: string, value: string | undefined): boolean {
  for (const kind of KINDS) if (kind.recognizes(text)) return kind.isMet(text, value);
  return false;
}
