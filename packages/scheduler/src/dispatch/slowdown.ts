import { type Address, attributesByName, meetsWishes, type Payload } from '@goshawk/core';
import type { Members } from '../cluster/members.js';
import type { Job } from '../job/job.js';

/** How many times as long a task of the job takes at the worker as at one that it prefers; 1 at one that nobody knows. */
export function slowdownAt({ spec: { prefer, slowdown } }: Job, worker: Address, members: Members): number {
  // Looking up each worker by address is expensive with thousands of them.
  if (slowdown === undefined || prefer === undefined) return 1;
  const attributes = members.get(worker)?.attributes;
  if (attributes === undefined) return 1;
  return meetsWishes(prefer, attributesByName(attributes)) ? 1 : slowdown;
}

/** Tasks that sleep stand for others, and take as long as these would. */
export function slowed(payload: Payload, times: number): Payload {
  return times > 1 && 'sleep' in payload ? { sleep: payload.sleep * times } : payload;
}
