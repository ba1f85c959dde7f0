import type { PolicySettings } from '@goshawk/core';
import type { NetworkModel } from '@goshawk/simulator';
import { type PolicyOptions, policyNames, policySettings, type WorkloadFacts } from '../settings.js';

/** How a policy is simulated: its settings, and the network where that is part of it. */
export interface SimulatedPolicy {
  readonly policy: PolicySettings;
  readonly network: NetworkModel;
}

/**
 * References that only a simulation can have. `omniscient`: a central scheduler that knows at once what is free
 * and what waits, everywhere; it is `goshawk` over a network that takes no time.
 */
export const REFERENCES: Readonly<Record<string, { readonly like: string; readonly network: NetworkModel }>> =
  {
    omniscient: { like: 'goshawk', network: { kind: 'constant', delayMs: 0 } },
  };

/**
 * The policies that are named, references among them.
 *
 * @throws InputError for one that there is not, and for settings that make no sense
 */
export function simulatedPolicies(
  options: PolicyOptions,
  facts: WorkloadFacts,
  network: NetworkModel,
): SimulatedPolicy[] {
  return policyNames(options.policy, Object.keys(REFERENCES)).map((name) => {
    const reference = REFERENCES[name];
    const like = reference?.like ?? name;
    const policy = policySettings({ ...options, policy: like }, like, facts);
    return { policy: { ...policy, policy: name }, network: reference?.network ?? network };
  });
}
