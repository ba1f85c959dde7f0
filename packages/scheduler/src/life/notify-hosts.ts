import { isHostAllowed, type JobSpec, webHostOf } from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';

/**
 * Why a job may not have its address notified; undefined if it may, or names none.
 *
 * @param hosts globs of the hosts that are allowed
 */
export function whyNotNotified({ notify }: JobSpec, hosts: readonly string[] = []): Refusal | undefined {
  if (notify === undefined || isHostAllowed(notify, hosts)) return undefined;
  const hostname = webHostOf(notify);
  return {
    code: 'notify-host',
    message: `the scheduler sends no notifications to ${hostname}`,
    hint: `its operator allows hosts with --notify-hosts${hosts.length === 0 ? '' : `; allowed are ${hosts.join(', ')}`}`,
  };
}
