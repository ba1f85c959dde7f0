import { meetsWishes } from '@goshawk/core';
import type { JobView, WorkerView } from '../contract.js';

export function isPreferredAt({ prefers }: JobView, { attributes }: WorkerView): boolean {
  return meetsWishes(prefers, attributes);
}
