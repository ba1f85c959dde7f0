import { type PolicyOptions, policyNames, policySettings, type WorkloadFacts } from '@goshawk/command/policy';
import type { PolicySettings } from '@goshawk/core';
import type { NetworkModel } from '@goshawk/simulator';

/** How to simulate a policy: its settings, the network, and the estimator. */
interface SimulatedPolicy {
  readonly policy: PolicySettings;
  readonly network: NetworkModel;
  readonly estimator: string;
}

interface Reference {
  /** A sentence for help and reports. */
  readonly about: string;
  /** Changes the policy options. */
  readonly shape: (options: PolicyOptions) => PolicyOptions;
}

const NO_DELAY: NetworkModel = { kind: 'constant', delayMs: 0 };

/** Idealized variants that only a simulation can have: `goshawk` without some of its real costs. */
export const REFERENCES: Readonly<Record<string, Reference>> = {
  'goshawk-no-delay': {
    about: 'goshawk with the same estimator and no network delay',
    shape: (options) => options,
  },
  omniscient: {
    about:
      'goshawk with known run times and no network delay, which shows what better estimates and a faster network could gain',
    shape: (options) => ({
      ...options,
      estimator: 'oracle',
      central: true,
      partition: true,
      stealing: true,
      matching: 'auto',
    }),
  },
};

/** Returns explanations of the references among these policies, one line each. */
export function referenceLines(policies: readonly string[]): string[] {
  const named = Object.entries(REFERENCES).filter(([name]) =>
    policies.some((each) => each.split(/[: ]/)[0] === name),
  );
  return named.map(([name, { about }]) => `${name}: ${about}`);
}

/**
 * Resolves the named policies and references.
 *
 * @throws InputError for an unknown policy, and for settings that make no sense
 */
export function simulatedPolicies(
  options: PolicyOptions,
  facts: WorkloadFacts,
  network: NetworkModel,
): SimulatedPolicy[] {
  return policyNames(options.policy, Object.keys(REFERENCES)).map((name) => {
    const reference = REFERENCES[name];
    if (reference === undefined) {
      return {
        policy: policySettings({ ...options, policy: name }, name, facts),
        network,
        estimator: options.estimator,
      };
    }
    const shaped = reference.shape({ ...options, policy: 'goshawk' });
    const policy = policySettings(shaped, 'goshawk', facts);
    return { policy: { ...policy, policy: name }, network: NO_DELAY, estimator: shaped.estimator };
  });
}
