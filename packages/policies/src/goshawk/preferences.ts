import { meetsWishes } from '@goshawk/core';
import type { JobView, WorkerView } from '../contract.js';

export function hasPreference({ prefers }: JobView): boolean {
  for (const _ in prefers) return true;
  return false;
}

export function isPreferredAt({ prefers }: JobView, { attributes }: WorkerView): boolean {
  return meetsWishes(prefers, attributes);
}
