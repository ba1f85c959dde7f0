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
import { nowAndThen } from './now-and-then.js';
import type { DaemonProcess } from './process.js';

/** Between two looks: first, while it is new, and later. ms */
const FIRST_LOOKS = 5;
const FIRST_PAUSE_MS = 500;
const PAUSE_MS = 10_000;
const DISPUTE_LOG_INTERVAL_MS = 60_000;

/**
 * Where this process can be reached beside its own name, which another one may have as well: at every address of this
 * machine if it listens at all of them.
 */
export function ownPlaces(bind: string, advertised: string): string[] {
  const port = parseEndpoint(bind).port || parseEndpoint(advertised).port;
  const hosts = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return endpointOn(
    bind,
    port,
    hosts.filter(({ internal }) => !internal).map(({ address }) => address),
  );
}

/** What is said and done when another central has this cluster, or a part of it; and of what only central can see. */
export function ifThereIsAnother(
  process: Pick<DaemonProcess, 'fail'>,
  logger: Logger,
): Required<Pick<CentralEnvironment, 'superseded' | 'contested' | 'journalWentBack'>> {
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
    journalWentBack: (scheduler) =>
      logger.error(
        { scheduler },
        'the journal of a scheduler was reset to an earlier state: jobs accepted since then are lost',
      ),
  };
}

/** A warning of two processes that claim one address, neither of which has found that out by itself. */
export function disputeLine({
  endpoint,
  claimants,
}: ReturnType<Mailbox['disputedAddresses']>[number]): string {
  return `two processes claim ${endpoint}: ${claimants.join(' and ')}; stop one of them, or give it a unique address (--advertise)`;
}

/**
 * Looks every now and then whether another central is behind the name of this one. What follows from it is the
 * machine's to say.
 *
 * @param advertised where this central is reached
 * @param own as `ownPlaces` says
 * @param found called with the places where another one may be
 */
export function lookForOtherCentrals(
  advertised: string,
  own: readonly string[],
  ended: Promise<unknown>,
  found: (places: readonly string[]) => void,
): void {
  let looks = 0;
  const look = async (): Promise<void> => {
    // A name that cannot be resolved leads nobody to another central either.
    const places = await endpointsBehind(advertised).catch((): string[] => []);
    const others = places.filter((place) => !own.includes(place) && place !== advertised);
    if (others.length > 0) found(others);
  };
  nowAndThen(() => (++looks < FIRST_LOOKS ? FIRST_PAUSE_MS : PAUSE_MS), ended, look);
  void look();
}
