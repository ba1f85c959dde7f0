import { InputError, type Millis } from '@goshawk/core';
import type { Logger, Mailbox } from '@goshawk/transport';
import { repeatUntil } from './now-and-then.js';

/** Number of consecutive checks that must find another process, because a proxy may mislead a single one. */
const CHECKS = 3;
/** Check interval once the process is up. ms */
const PAUSE_MS: Millis = 30_000;

/**
 * Refuses to start if another process answers at the advertised address: peers would take both for one process, and
 * the tasks of the other for lost.
 *
 * @throws InputError
 */
export async function checkAddressConflict(mailbox: Mailbox): Promise<void> {
  if (await isClaimedByAnother(mailbox)) throw addressClaimedError(mailbox.endpoint);
}

/** Repeats the check, and ends this process if another one answers at its address, because peers cannot reach it. */
export function endOnAddressConflict(
  mailbox: Mailbox,
  logger: Logger,
  ended: Promise<unknown>,
  fail: (error: Error) => void,
): void {
  repeatUntil(PAUSE_MS, ended, async () => {
    if (!(await isClaimedByAnother(mailbox))) return;
    const error = addressClaimedError(mailbox.endpoint);
    logger.fatal({ code: error.code, hint: error.hint }, error.message);
    fail(error);
  });
}

async function isClaimedByAnother(mailbox: Mailbox): Promise<boolean> {
  for (let look = 0; look < CHECKS; look++) {
    if ((await mailbox.probeOwnAddress()) !== 'another') return false;
  }
  return true;
}

function addressClaimedError(endpoint: string): InputError {
  return new InputError(
    'address-claimed',
    `two processes claim ${endpoint}: this process advertises that address (--advertise), but another process answers there`,
    'give each process a unique address, or stop the other one; `goshawk workers` lists them',
  );
}
