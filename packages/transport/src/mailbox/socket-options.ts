import { context, type Dealer, type Router, type SocketOptions } from 'zeromq';
import type { KeyRing } from '../keys/index.js';
import type { DialOption } from './identification.js';
import type { MailboxLimits } from './limits.js';

/** ZAP domain of sockets without keys. */
export const KEYLESS_DOMAIN = 'keyless';

/**
 * Every option of every ZeroMQ socket, in one place.
 *
 * Both kinds: linger 0, so that a process which ends without closing its mailbox ends at once; closing
 * sets it to a bounded time. Frames are bounded on the socket, too: ZeroMQ drops the connection of a peer
 * that announces a larger one, before there is memory taken for it. The mark on the socket is twice the
 * limit, so that a frame which is only somewhat too large is read, and its sender named in the log.
 *
 * A peer whose machine is gone is found out by the system's own probes, not by ZeroMQ's heartbeats. With those on,
 * libzmq 4.3.5 ends the process by an assertion (`!_io_error`) when a heartbeat is due on a connection that broke while
 * its frames waited to be read: a peer that writes a lot and leaves could end whoever is busy for some seconds, or was
 * stopped. The system's probes are answered for a process that is stopped, too, so that it finds its connections whole.
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
    // The same for what was sent and is not acknowledged.
    tcpMaxRetransmitTimeout: keepaliveTimeoutMs,
    handshakeInterval: limits.handshakeTimeoutMs,
  };
}

/** Settings that a listening socket needs to admit only authorized peers. */
export interface Keyed {
  /** The one of the present. */
  ring: KeyRing;
  zapDomain: string;
}

/**
 * The socket that a process is reached at.
 *
 * - handover: a peer that connects again under its name takes over from its broken connection;
 * - mandatory, and no time to wait: a reply to a client that is gone or full fails at once and for that
 *   client alone, instead of vanishing or of holding up the replies to others;
 * - a client that does not read loses its connection after `keepaliveTimeoutMs`, and with it what waits there: the
 *   system counts a window that stays closed as no answer;
 * - zapEnforceDomain: nobody is admitted unless somebody was asked. Without it ZeroMQ takes any key where it
 *   finds no ZAP handler;
 * - zapDomain without keys, where nobody needs to be asked: with one, ZeroMQ refuses versions 1 and 2 of its protocol.
 *   libzmq 4.3.5 ends the process when the first word of such a peer comes while the socket is being closed.
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
 * The socket that mail leaves by, one for each peer process.
 *
 * - immediate: ZeroMQ takes mail only while the connection stands. What waits for a peer that is down
 *   waits in the outbox, where it is counted, bounded, and dropped when the peer comes back as another. Not
 *   for a socket that answers are read from: with it, ZeroMQ throws away what has arrived and was not read
 *   when the peer disconnects, and the last word of a peer that leaves would be lost.
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

/** Takes effect before the first socket only; ZeroMQ's own default is 1,023 sockets. */
export function prepareContext(limits: MailboxLimits): void {
  context.maxSockets = Math.min(limits.socketsMax, context.maxSocketsLimit);
}
