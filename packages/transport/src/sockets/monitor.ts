import type { Dealer, Event, Router } from 'zeromq';
import type { MailboxCounters, RejectionReason } from '../counters.js';
import type { MailboxLimits } from '../limits.js';
import type { Reading } from './receive.js';
import type { RejectedConnections } from './rejected-connections.js';
import { whileRead } from './thread-end.js';

/**
 * Calls `onEvent` for each event of a socket, until ZeroMQ ends the stream some time after the socket was closed.
 * Stopping earlier can hang the process: the ZeroMQ thread that closes a socket reports to the
 * monitor, and waits forever for a garbage-collected one.
 * @throws ZeroMQ's error, synchronously, if no more sockets are available: monitoring uses one
 */
export function forEachEvent({ events }: Router | Dealer, onEvent: (event: Event) => void): Promise<void> {
  return whileRead(events, readAll(events, onEvent));
}

async function readAll(events: AsyncIterable<Event>, onEvent: (event: Event) => void): Promise<void> {
  for await (const event of events) onEvent(event);
}

/** Maximum delay in ms of ZeroMQ's events. A rejection that is reported later counts twice. */
const EVENTS_LATE_MS = 2_000;
/** Delay in ms of a timer that shows that the event loop is busy and has probably not read all events yet. */
const LOOP_LATE_MS = 500;

/**
 * Counts inbound connections and rejected ones. ZeroMQ does not report peers with another protocol or an old version,
 * nor which connection ended. Therefore each disconnection during pending handshakes counts as a rejection, unless
 * those handshakes complete within the timeout. Resolves when the endpoint is free again: ZeroMQ stops listening some
 * time after the socket is closed, and until then the endpoint is in use. (`unbind` would not help: it runs in
 * another thread, in parallel with reads of the socket, which ZeroMQ forbids.)
 *
 * @throws ZeroMQ's error, synchronously, if no more sockets are available
 */
export function watchConnections(
  router: Router,
  { handshakeTimeoutMs }: MailboxLimits,
  counters: MailboxCounters,
  rejected: RejectedConnections,
  reading: Reading,
): Promise<void> {
  let connections = 0;
  /** Accepted connections whose handshake has neither succeeded nor failed yet. */
  let undecided = 0;
  let suspects = 0;
  let timer: NodeJS.Timeout | undefined;
  const changed = (by: number): void => {
    connections += by;
    counters.inboundConnections += by;
    reading.established = connections - undecided;
  };
  const decided = (): void => {
    undecided = Math.max(0, undecided - 1);
    suspects = Math.min(suspects, undecided);
    reading.established = connections - undecided;
  };
  const countSuspectsIn = (ms: number): void => {
    const dueAt = performance.now() + ms;
    timer = setTimeout(() => countSuspects(dueAt), ms).unref();
  };
  const countSuspects = (dueAt: number): void => {
    timer = undefined;
    if (performance.now() - dueAt > LOOP_LATE_MS) return countSuspectsIn(EVENTS_LATE_MS);
    undecided -= suspects;
    for (; suspects > 0; suspects--) rejected.refused('malformed');
  };
  let closed: () => void = () => {};
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const onEvent = (event: Event): void => {
    switch (event.type) {
      case 'accept':
        changed(1);
        undecided++;
        break;
      case 'handshake':
      case 'handshake:error:auth':
        // The ZAP handler already counted this failure.
        decided();
        break;
      case 'disconnect':
        if (connections > 0) changed(-1);
        if (suspects < undecided) {
          suspects++;
          if (timer === undefined) countSuspectsIn(handshakeTimeoutMs + EVENTS_LATE_MS);
        }
        break;
      case 'handshake:error:protocol':
      case 'handshake:error:other':
        rejected.refused(reasonOf(event));
        decided();
        break;
      case 'close':
        clearTimeout(timer);
        changed(-connections);
        closed();
        break;
      default:
        break;
    }
  };
  return Promise.race([isClosed, forEachEvent(router, onEvent)]);
}

function reasonOf(event: Event): RejectionReason {
  if (event.type === 'handshake:error:other') return 'incomplete';
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
