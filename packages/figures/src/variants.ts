import type { Variant } from './figure.js';

/** Policies side by side, each as its name says. */
export function policies(...names: readonly string[]): Variant[] {
  return names.map((policy) => ({ name: policy, settings: { policy } }));
}
