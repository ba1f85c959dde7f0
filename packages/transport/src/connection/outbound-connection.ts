import { Dealer, type Event } from 'zeromq';
import type { PackedFrame } from '../frames/frame.js';
import { endpointsBehind, hasHostName, parseEndpoint } from '../identity/endpoint.js';
import type { DialOption } from '../identity/identification.js';
import type { MailboxLimits } from '../limits.js';
import type { ThrottledLog } from '../log.js';
import { forEachEvent } from '../sockets/monitor.js';
import { receive } from '../sockets/receive.js';
import { dealerOptions } from '../sockets/socket-options.js';
import type { Connection, Transmission } from './connection.js';
import { probeEndpoint } from './greeting.js';

/** Reasons why the handshake with a listening process fails. */
export type AuthFailure =
  /** The peer requires keys, and this process has none. */
  | 'keyNeeded'
  /** The peer has no keys, and this process requires one. */
  | 'keyUnknown'
  /** The peer does not know our keys, or we do not know its key. */
  | 'keyRefused'
  /** The peer has an individual key that our key file does not list: the file is older. */
  | 'keyUnlisted'
  /** Connections are closed before the greeting: a proxy accepts them, but the process behind it is not running. */
  | 'closed'
  /** The handshake timed out, which says nothing about keys. */
  | 'slow';

const PROBLEMS: Readonly<Record<AuthFailure, string>> = {
  keyNeeded: 'requires a key',
  keyUnknown: 'has no keys, but this process has',
  keyRefused: 'rejects this process’s key, or has a different public key than expected',
  keyUnlisted: 'has an individual key that this process’s key file does not list, so the file is old',
  closed:
    'closes connections before the handshake: it is not running, or it is behind a proxy without a backend',
  slow: 'does not complete the handshake in time: it hangs, or it or its machine is too busy',
};

/** Returns whether only other keys would help. */
export function isAboutKeys(why: AuthFailure): boolean {
  return why !== 'closed' && why !== 'slow';
}

/** Describes the failure, as in `tcp://… requires a key`. */
export function describeAuthFailure(endpoint: string, why: AuthFailure): string {
  return `${endpoint} ${PROBLEMS[why]}`;
}

/** Returns whether the handshake failed because only one side has keys. */
function isMismatch(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_ZMTP_MECHANISM_MISMATCH';
}

/** So many closed handshakes in a row mean that a live peer requires a key. */
const CLOSINGS = 5;
/** Maximum number of doublings of the retry delay, which `reconnectIntervalMaxMs` also limits. */
const PAUSE_DOUBLINGS_MAX = 16;

interface DealerOptions {
  readonly endpoint: string;
  /** Returns the ways to connect with the current keys, to be tried in turn. */
  readonly dialOptions: () => readonly DialOption[];
  readonly limits: MailboxLimits;
  readonly log: ThrottledLog;
  /** Called when all ways were rejected, and with undefined when one is accepted. */
  readonly onAuthFailure: (why: AuthFailure | undefined) => void;
  /** Called when an established connection breaks, some milliseconds after the peer's exit. Uses two more sockets. */
  readonly onBroken?: (() => void) | undefined;
  /** In a client, receives replies on this connection. `way` contains the role and key that the peer has proven. */
  readonly receiver?: (parts: readonly Buffer[], way: DialOption) => number;
}

/**
 * Sends frames to a listening process. Retries forever if it is unreachable. With keys there may be several ways to
 * connect: during a rotation a peer uses old or new keys. After a rejection the next way gets a new socket, so that
 * state of the last attempt is not mistaken for the new one. (ZeroMQ itself would give up after some rejections, and
 * retry after others.)
 */
export class OutboundConnection implements Connection {
  readonly #options: DealerOptions;
  readonly #isKeyed: boolean;
  readonly #hasName: boolean;
  readonly #redialTimer: NodeJS.Timeout | undefined;
  #socket: Dealer;
  #dialed: string | undefined;
  /** Number of addresses of the host, and how many failures have made the connection go on to the next one. */
  #addresses = 1;
  #failures = 0;
  /** Index of the way that is being tried or was accepted. */
  #optionIndex = 0;
  /** Consecutive rejections. */
  #refusals = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** With keys, messages wait until a way is accepted, because closing the socket of a rejected one would lose them. */
  #isAccepted = false;
  readonly #isWatched: boolean;
  #isEstablished = false;
  #isRejected = false;
  /** When ZeroMQ last connected, before the handshake. */
  #connectedAt = 0;
  /** Whether a frame waits until the socket accepts it. */
  #isSending = false;
  #decided: Promise<void> | undefined;
  #onDecided: () => void = () => {};

  /** @throws InvalidEndpointError, or ZeroMQ's error if no more sockets are available */
  constructor(options: DealerOptions) {
    const { endpoint, limits } = options;
    this.#hasName = hasHostName(parseEndpoint(endpoint));
    this.#options = options;
    this.#isKeyed = options.dialOptions()[0]?.curve !== undefined;
    this.#isWatched = this.#isKeyed || options.receiver !== undefined || options.onBroken !== undefined;
    this.#socket = this.#openSocket();
    if (this.#hasName) this.#redialTimer = setInterval(() => this.#redial(), limits.redialIntervalMs).unref();
  }

  get isEstablished(): boolean | undefined {
    return this.#isWatched ? this.#isEstablished : undefined;
  }

  /** A client reports a rejection to its user, after which none of its messages may take effect. */
  get isRejected(): boolean {
    return this.#isRejected && this.#options.receiver !== undefined;
  }

  async transmit(frame: PackedFrame): Promise<Transmission> {
    const { endpoint, log } = this.#options;
    for (;;) {
      if (this.#socket.closed || (this.#isKeyed && !this.#isAccepted)) await this.#untilDecided();
      if (this.isRejected) return 'gone';
      const socket = this.#socket;
      this.#isSending = true;
      try {
        await socket.send(frame.bytes);
        return 'sent';
      } catch (error) {
        if (this.#isClosed) return 'gone';
        const { code, message } = error as NodeJS.ErrnoException;
        // Retry: the socket was replaced, or its connection broke just when it became writable.
        if (socket.closed || code === 'EAGAIN') continue;
        log.warn(endpoint, 'send', `cannot send to ${endpoint}: ${message}`);
        return 'gone';
      } finally {
        this.#isSending = false;
      }
    }
  }

  close(lingerMs: number): void {
    this.#isClosed = true;
    clearInterval(this.#redialTimer);
    clearTimeout(this.#retryTimer);
    if (!this.#socket.closed) {
      this.#socket.linger = lingerMs;
      this.#socket.close();
    }
    this.#decide();
  }

  /** Reconnects with the current keys. Messages queued in ZeroMQ are lost, as with any broken connection. */
  rekey(): void {
    if (this.#isClosed || !this.#isKeyed) return;
    clearTimeout(this.#retryTimer);
    this.#optionIndex = 0;
    this.#refusals = 0;
    this.#isAccepted = false;
    this.#isRejected = false;
    this.#socket.close();
    this.#reopen();
  }

  /** Resolves when the connection is accepted, rejected or closed. */
  #untilDecided(): Promise<void> {
    this.#decided ??= new Promise((resolve) => {
      this.#onDecided = resolve;
    });
    return this.#isClosed ? Promise.resolve() : this.#decided;
  }

  #decide(): void {
    this.#decided = undefined;
    this.#onDecided();
  }

  /** @throws ZeroMQ's error if no more sockets are available */
  #openSocket(): Dealer {
    const { endpoint, limits, log, receiver } = this.#options;
    const options = this.#options.dialOptions();
    const way = options[this.#optionIndex % options.length] as DialOption;
    const socket = new Dealer(dealerOptions(limits, way, receiver !== undefined));
    this.#socket = socket;
    this.#dialed = undefined;
    this.#isEstablished = false;
    if (this.#isWatched) void forEachEvent(socket, (event) => this.#onEvent(socket, event));
    if (this.#hasName) {
      void this.#dial();
    } else {
      this.#connect(endpoint);
    }
    if (receiver !== undefined) void receive(socket, (parts) => receiver(parts, way), limits, log);
    return socket;
  }

  #onEvent(socket: Dealer, event: Event): void {
    if (socket.closed) return;
    switch (event.type) {
      case 'connect':
        this.#connectedAt = performance.now();
        break;
      case 'connect:retry':
        if (this.#addresses > 1 && !this.#isEstablished) this.#dialNext();
        break;
      case 'handshake':
        this.#isAccepted = true;
        this.#isEstablished = true;
        this.#isRejected = false;
        this.#refusals = 0;
        this.#options.onAuthFailure(undefined);
        this.#decide();
        break;
      case 'disconnect':
        this.#isAccepted = false;
        // A failed handshake causes this event, too, but then no established connection was lost.
        if (this.#isEstablished) {
          this.#isEstablished = false;
          this.#options.onBroken?.();
        }
        break;
      case 'handshake:error:protocol':
        this.#refused(isMismatch(event.error) ? 'keyUnknown' : 'keyRefused');
        break;
      case 'handshake:error:auth':
        this.#refused('keyRefused');
        break;
      case 'handshake:error:other':
        // A peer that disconnects may not know our keys.
        if (this.#isKeyed) this.#refused(this.#hasTimedOut() ? 'slow' : 'closed');
        // Without keys, once may mean that it is exiting. ZeroMQ connects again.
        else if (!this.#hasTimedOut() && ++this.#refusals % CLOSINGS === 0) void this.#reportClosed();
        break;
      default:
        break;
    }
  }

  /**
   * Tries the next way: immediately while some are untried, then with exponential backoff.
   *
   * @param keyed the reason, if we have keys
   */
  #refused(keyed: Exclude<AuthFailure, 'keyNeeded'>): void {
    const { limits } = this.#options;
    const options = this.#options.dialOptions();
    this.#isAccepted = false;
    this.#refusals++;
    const rounds = Math.floor(this.#refusals / options.length);
    if (this.#refusals % options.length === 0) {
      const why = this.#isKeyed ? keyed : 'keyNeeded';
      if (why === 'closed') void this.#reportClosed();
      else this.#reportRejection(why);
    }
    const pauseMs =
      rounds === 0 ? 0 : limits.reconnectIntervalMs * 2 ** Math.min(rounds, PAUSE_DOUBLINGS_MAX);
    this.#optionIndex = (this.#optionIndex + 1) % options.length;
    this.#socket.close();
    this.#reopenIn(Math.min(pauseMs, limits.reconnectIntervalMaxMs));
  }

  /** A peer that does not know our keys disconnects at once; a busy one does so after the handshake timeout. */
  #hasTimedOut(): boolean {
    return performance.now() - this.#connectedAt > this.#options.limits.handshakeTimeoutMs / 2;
  }

  #reportRejection(why: AuthFailure): void {
    const { endpoint, log, onAuthFailure } = this.#options;
    log.warn(endpoint, 'keys', describeAuthFailure(endpoint, why));
    this.#isRejected = isAboutKeys(why);
    onAuthFailure(why);
    if (this.isRejected) this.#decide();
  }

  /** Finds out why connections are closed: a live process sends its greeting before it rejects the client. */
  async #reportClosed(): Promise<void> {
    const { endpoint, limits } = this.#options;
    const isAlive = (await probeEndpoint(endpoint, limits.handshakeTimeoutMs)) === 'greeting';
    if (this.#refusals === 0 || this.#isClosed) return;
    if (this.#isKeyed) this.#reportRejection(isAlive ? 'keyRefused' : 'closed');
    else if (isAlive) this.#reportRejection('keyNeeded');
  }

  #reopenIn(pauseMs: number): void {
    this.#retryTimer = setTimeout(() => this.#reopen(), pauseMs).unref();
  }

  /** Opens a new socket, or retries later if none is available. */
  #reopen(): void {
    const { endpoint, limits, log } = this.#options;
    try {
      this.#openSocket();
    } catch (error) {
      if (!this.#socket.closed) this.#socket.close();
      log.warn(endpoint, 'open', `cannot connect to ${endpoint} now: ${(error as Error).message}`);
      this.#reopenIn(limits.reconnectIntervalMaxMs);
    }
  }

  /**
   * Resolves the host name again, because a process that moved to another machine has a new address. Does not check
   * whether the socket is writable: that would consume the event for which a pending send waits.
   */
  #redial(): void {
    const isDisconnected = this.#isWatched ? !this.#isEstablished : this.#isSending;
    if (isDisconnected && !this.#socket.closed) this.#dialNext();
  }

  /** Tries the next address of the host, because the process may listen at only one of them. */
  #dialNext(): void {
    this.#failures++;
    void this.#dial();
  }

  async #dial(): Promise<void> {
    const { endpoint, log } = this.#options;
    const socket = this.#socket;
    try {
      const all = await endpointsBehind(endpoint);
      this.#addresses = all.length;
      const next = all[this.#failures % all.length]!;
      if (!socket.closed && next !== this.#dialed) this.#connect(next);
    } catch (error) {
      log.warn(endpoint, 'dial', (error as Error).message);
    }
  }

  #connect(resolved: string): void {
    if (this.#dialed !== undefined) this.#socket.disconnect(this.#dialed);
    const isIpv6 = resolved.includes('[');
    if (this.#socket.ipv6 !== isIpv6) this.#socket.ipv6 = isIpv6;
    this.#socket.connect(resolved);
    this.#dialed = resolved;
  }
}
