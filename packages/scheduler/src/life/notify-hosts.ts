import { isNotifyAllowed, type JobSpec, notifyTargetName } from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';

/**
 * Explains why a job's notification address is refused; undefined if it is allowed, or there is none.
 *
 * @param hosts globs of allowed hosts, mail addresses and commands
 */
export function notifyRefusal({ notify }: JobSpec, hosts: readonly string[] = []): Refusal | undefined {
  if (notify === undefined || isNotifyAllowed(notify, hosts)) return undefined;
  return {
    code: 'notify-host',
    message: `the scheduler sends no notifications to ${notifyTargetName(notify)}`,
    hint: `its operator allows hosts, mail: and command: with --notify-hosts${hosts.length === 0 ? '' : `; allowed are ${hosts.join(', ')}`}`,
  };
}
