import { networkInterfaces } from 'node:os';
import type { CentralEnvironment } from '@goshawk/central';
import type { GoshawkError } from '@goshawk/core';
import {
  endpointOn,
  endpointsBehind,
  type Logger,
  type Mailbox,
  parseEndpoint,
  ThrottledLog,
} from '@goshawk/transport';
import { repeatUntil } from './now-and-then.js';
import type { DaemonProcess } from './process.js';

/** Check intervals: short at first, then longer. ms */
const FIRST_CHECKS = 5;
const FIRST_PAUSE_MS = 500;
const PAUSE_MS = 10_000;
const DISPUTE_LOG_INTERVAL_MS = 60_000;

/**
 * Addresses of this process besides its advertised name, which another process may share: all addresses of the
 * machine if it listens on all.
 */
export function ownEndpoints(bind: string, advertised: string): string[] {
  const port = parseEndpoint(bind).port || parseEndpoint(advertised).port;
  const hosts = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return endpointOn(
    bind,
    port,
    hosts.filter(({ internal }) => !internal).map(({ address }) => address),
  );
}

/** Logs and handles another central for all or part of this cluster, and problems that only central can detect. */
export function otherCentralEffects(
  process: Pick<DaemonProcess, 'fail'>,
  logger: Logger,
): Required<Pick<CentralEnvironment, 'superseded' | 'contested' | 'journalRolledBack'>> {
  const complaints = new ThrottledLog(logger, DISPUTE_LOG_INTERVAL_MS);
  return {
    superseded: (error) => {
      const { code, hint } = error as GoshawkError;
      logger.fatal({ code, hint }, error.message);
      process.fail(error);
    },
    contested: (other, followers) =>
      complaints.warn(
        '',
        'contested',
        'a second central controls part of this cluster: stop one of the two',
        {
          other,
          followers,
        },
      ),
    journalRolledBack: (scheduler) =>
      logger.error(
        { scheduler },
        'the journal of a scheduler was reset to an earlier state, or is a copy: jobs that only its last journal has are lost',
      ),
  };
}

/** Returns a warning about two processes that claim one address, neither of which has detected the conflict. */
export function disputeLine({
  endpoint,
  claimants,
}: ReturnType<Mailbox['disputedAddresses']>[number]): string {
  return `two processes claim ${endpoint}: ${claimants.join(' and ')}; stop one of them, or give it a unique address (--advertise)`;
}

/**
 * Checks periodically whether another central is reachable under this one's name; the machine decides what follows.
 *
 * @param advertised advertised endpoint of this central
 * @param own addresses from `ownEndpoints`
 * @param found called with the addresses where another central may be
 */
export function watchForOtherCentrals(
  advertised: string,
  own: readonly string[],
  ended: Promise<unknown>,
  found: (places: readonly string[]) => void,
): void {
  let looks = 0;
  const check = async (): Promise<void> => {
    // If a name does not resolve, no peer reaches another central through it either.
    const places = await endpointsBehind(advertised).catch((): string[] => []);
    const others = places.filter((place) => !own.includes(place) && place !== advertised);
    if (others.length > 0) found(others);
  };
  repeatUntil(() => (++looks < FIRST_CHECKS ? FIRST_PAUSE_MS : PAUSE_MS), ended, check);
  void check();
}
