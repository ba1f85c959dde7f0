import { context, type Dealer, type Router, type SocketOptions } from 'zeromq';
import type { DialOption } from '../identity/identification.js';
import type { KeyRing } from '../keys/index.js';
import type { MailboxLimits } from '../limits.js';

/** ZAP domain of sockets without keys. */
export const KEYLESS_DOMAIN = 'keyless';

/**
 * Options of all ZeroMQ sockets. Linger is 0, so that a process that exits without closing its
 * mailbox exits immediately; closing sets a bounded time. Sockets limit frames, too: ZeroMQ drops a peer that
 * announces a larger one before allocating memory. That limit is twice the mailbox's, so that slightly
 * oversized frames can be logged with their sender. Peers on dead machines are detected by TCP keepalive, not
 * by ZeroMQ's heartbeats: with those, libzmq 4.3.5 aborts with an assertion (`!_io_error`) if a heartbeat is
 * due on a broken connection with unread frames, so that a peer that writes much and disconnects could crash
 * a busy or suspended process. The kernel answers keepalive probes even for a suspended process, so its connections
 * survive.
 */
function commonOptions(limits: MailboxLimits) {
  const { keepaliveIntervalMs, keepaliveTimeoutMs } = limits;
  const intervalSeconds = Math.ceil(keepaliveIntervalMs / 1_000);
  return {
    linger: 0,
    maxMessageSize: 2 * limits.frameBytesMax,
    sendHighWaterMark: limits.highWaterMark,
    tcpKeepalive: 1,
    tcpKeepaliveIdle: intervalSeconds,
    tcpKeepaliveInterval: intervalSeconds,
    tcpKeepaliveCount: Math.max(1, Math.round(keepaliveTimeoutMs / keepaliveIntervalMs) - 1),
    // Also close connections with unacknowledged data after this time.
    tcpMaxRetransmitTimeout: keepaliveTimeoutMs,
    handshakeInterval: limits.handshakeTimeoutMs,
  };
}

/** Settings that a listening socket needs to admit only authorized peers. */
export interface Keyed {
  /** The current keys. */
  ring: KeyRing;
  zapDomain: string;
}

/**
 * Options of the listening socket.
 *
 * - handover: a peer that reconnects under its name replaces its broken connection;
 * - mandatory, without a send timeout: a reply to a client that is gone or full fails immediately and for that
 *   client alone, instead of vanishing or delaying replies to others;
 * - a client that does not read loses its connection after `keepaliveTimeoutMs`, with its queue: the system
 *   treats a zero window as no answer;
 * - zapEnforceDomain: rejects peers unless a ZAP handler admits them. Without it ZeroMQ accepts any key if there
 *   is no ZAP handler;
 * - zapDomain without keys, although no peer is checked: with one, ZeroMQ rejects versions 1 and 2 of its protocol.
 *   libzmq 4.3.5 ends the process when the first bytes of such a peer arrive while the socket is being closed.
 */
export function routerOptions(limits: MailboxLimits, keyed: Keyed | undefined): SocketOptions<Router> {
  const [inUse] = keyed?.ring.generations ?? [];
  return {
    ...commonOptions(limits),
    zapDomain: KEYLESS_DOMAIN,
    ...(inUse && {
      curveServer: true,
      curvePublicKey: inUse.curve.publicKey,
      curveSecretKey: inUse.curve.secretKey,
      zapDomain: keyed!.zapDomain,
      zapEnforceDomain: true,
    }),
    receiveHighWaterMark: limits.highWaterMark,
    sendHighWaterMark: limits.replyHighWaterMark,
    handover: true,
    mandatory: true,
    sendTimeout: 0,
  };
}

/**
 * Options of an outbound socket, one per peer process.
 *
 * - immediate: ZeroMQ accepts messages only while connected. Messages to a peer that is down wait in the outbox, where
 *   they are counted, bounded, and dropped if the peer returns as another incarnation. It is off for a socket that
 *   receives replies, because ZeroMQ would discard unread data when the peer disconnects.
 */
export function dealerOptions(
  limits: MailboxLimits,
  { routingId, curve }: DialOption,
  isRead: boolean,
): SocketOptions<Dealer> {
  return {
    ...commonOptions(limits),
    receiveHighWaterMark: isRead ? limits.highWaterMark : 1,
    routingId,
    ...curve,
    immediate: !isRead,
    reconnectInterval: limits.reconnectIntervalMs,
    reconnectMaxInterval: limits.reconnectIntervalMaxMs,
  };
}

/** Sets the maximum number of sockets. Call it before opening the first one. ZeroMQ's default is 1,023. */
export function prepareContext(limits: MailboxLimits): void {
  context.maxSockets = Math.min(limits.socketsMax, context.maxSocketsLimit);
}
