import { type Address, attributesByName, meetsWishes, type Payload } from '@goshawk/core';
import type { Members } from '../cluster/members.js';
import type { Job } from '../job/job.js';

/** Returns the run time at the worker relative to that at a preferred one; 1 if the worker is unknown. */
export function slowdownAt({ spec: { prefer, slowdown } }: Job, worker: Address, members: Members): number {
  // Checked first, because looking up workers is expensive with thousands of them.
  if (slowdown === undefined || prefer === undefined) return 1;
  const attributes = members.get(worker)?.attributes;
  if (attributes === undefined) return 1;
  return meetsWishes(prefer, attributesByName(attributes)) ? 1 : slowdown;
}

/** Lengthens a sleep by the slowdown, because sleep tasks simulate real ones. Other payloads are unchanged. */
export function slowed(payload: Payload, times: number): Payload {
  return times > 1 && 'sleep' in payload ? { sleep: payload.sleep * times } : payload;
}
