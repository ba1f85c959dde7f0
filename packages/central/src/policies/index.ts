import type { CentralPolicySettings, PolicySettings } from '@goshawk/core';
import type { CentralPolicy } from './contract.js';
import { Gs } from './gs/gs.js';

type Factories = {
  readonly [P in CentralPolicySettings['policy']]: (
    own: Extract<CentralPolicySettings, { policy: P }>,
    settings: PolicySettings,
  ) => CentralPolicy;
};

/** The one table of central policies. One folder and one line here make a new one. */
export const CENTRAL_POLICIES: Factories = {
  gs: (own, settings) => new Gs(own, settings),
};

/** @param own a preset's, by which the policy is chosen */
export function centralPolicy(own: CentralPolicySettings, settings: PolicySettings): CentralPolicy {
  return CENTRAL_POLICIES[own.policy](own, settings);
}
