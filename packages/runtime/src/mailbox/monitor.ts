import type { Router } from 'zeromq';
import type { MailboxCounters } from './counters.js';
import type { ThrottledLog } from './log.js';

/**
 * Counts the connections that others have to this process, and says why one failed.
 *
 * @returns when the endpoint is free again: after the socket was closed, ZeroMQ stops listening at its
 * leisure, and a successor that came too early would find the endpoint in use. (`unbind` would not do: it
 * runs in another thread, beside the reading of the same socket, which ZeroMQ forbids.)
 */
export async function watchConnections(
  router: Router,
  counters: MailboxCounters,
  log: ThrottledLog,
): Promise<void> {
  for await (const event of router.events) {
    switch (event.type) {
      case 'accept':
        counters.inboundConnections++;
        break;
      case 'disconnect':
        counters.inboundConnections--;
        break;
      case 'accept:error':
      case 'handshake:error:protocol':
      case 'handshake:error:auth':
      case 'handshake:error:other':
        log.warn(
          event.address,
          event.type,
          `a connection to ${event.address} failed: ${event.error.message}`,
        );
        break;
      case 'close':
        return;
      default:
        break;
    }
  }
}
