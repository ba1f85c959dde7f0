import type { Event, Router } from 'zeromq';
import type { MailboxCounters, StrangerReason } from './counters.js';
import type { Strangers } from './strangers.js';

/**
 * Counts the connections that others have to this process, and those that were refused.
 *
 * @returns when the endpoint is free again: after the socket was closed, ZeroMQ stops listening at its
 * leisure, and a successor that came too early would find the endpoint in use. (`unbind` would not do: it
 * runs in another thread, beside the reading of the same socket, which ZeroMQ forbids.)
 */
export async function watchConnections(
  router: Router,
  counters: MailboxCounters,
  strangers: Strangers,
): Promise<void> {
  for await (const event of router.events) {
    switch (event.type) {
      case 'accept':
        counters.inboundConnections++;
        break;
      case 'disconnect':
        counters.inboundConnections--;
        break;
      case 'handshake:error:protocol':
      case 'handshake:error:other':
        strangers.refused(reasonOf(event));
        break;
      case 'close':
        return;
      default:
        // `handshake:error:auth` follows an answer of the ZAP handler, which has counted it.
        break;
    }
  }
}

function reasonOf(event: Event): StrangerReason {
  const code = 'error' in event ? (event.error as NodeJS.ErrnoException).code : undefined;
  switch (code) {
    case 'ERR_ZMTP_MECHANISM_MISMATCH':
      return 'noKey';
    case 'ERR_ZMTP_CRYPTOGRAPHIC':
      return 'wrongServerKey';
    default:
      return 'malformed';
  }
}
