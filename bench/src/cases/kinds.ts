import type { CaseKind } from './kind.js';
import { PACKING_CASES } from './packing.js';

/** The first that accepts a file checks it. */
export const CASE_KINDS: readonly CaseKind[] = [...PACKING_CASES];
