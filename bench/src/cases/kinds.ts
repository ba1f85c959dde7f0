import { CARBYNE_CASES } from './carbyne.js';
import type { CaseKind } from './kind.js';
import { PACKING_CASES } from './packing.js';
import { THREE_SIGMA_CASES } from './three-sigma.js';

/** The first that accepts a file checks it. */
export const CASE_KINDS: readonly CaseKind[] = [...PACKING_CASES, ...THREE_SIGMA_CASES, ...CARBYNE_CASES];
