import { addPolicies, type PolicyModule } from '@goshawk/policies';
import { CAPACITY } from './policies/capacity/capacity.js';
import { CARBYNE_POLICIES } from './policies/carbyne/index.js';
import { EAGLE } from './policies/eagle/eagle.js';
import { EASY } from './policies/easy/easy.js';
import { gs } from './policies/gs/gs.js';
import { PACKING_MODULES } from './policies/packing/index.js';
import { THREE_SIGMA_POLICIES } from './policies/three-sigma/index.js';

export * from './policies/carbyne/index.js';
export * from './policies/packing/index.js';
export * from './policies/three-sigma/index.js';

/** The papers' policies; docs/checklists/adding-a-policy.md says how to add one. */
// biome-ignore lint/suspicious/noExplicitAny: options differ by policy
export const PAPER_POLICIES: Readonly<Record<string, PolicyModule<any>>> = {
  gs,
  easy: EASY,
  eagle: EAGLE,
  capacity: CAPACITY,
  ...PACKING_MODULES,
  ...CARBYNE_POLICIES,
  ...THREE_SIGMA_POLICIES,
};

/** Registers the papers' policies, so that `presetNamed` and `makePolicy` find them. Idempotent. */
export function addPapers(): void {
  addPolicies(PAPER_POLICIES);
}
