import { isHostAllowed, type JobSpec, webHostOf } from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';

/**
 * Explains why a job's notification address is refused; undefined if it is allowed, or there is none.
 *
 * @param hosts globs of allowed hosts
 */
export function notifyRefusal({ notify }: JobSpec, hosts: readonly string[] = []): Refusal | undefined {
  if (notify === undefined || isHostAllowed(notify, hosts)) return undefined;
  const hostname = webHostOf(notify);
  return {
    code: 'notify-host',
    message: `the scheduler sends no notifications to ${hostname}`,
    hint: `its operator allows hosts with --notify-hosts${hosts.length === 0 ? '' : `; allowed are ${hosts.join(', ')}`}`,
  };
}
