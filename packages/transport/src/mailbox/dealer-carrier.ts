import type { Role } from '@goshawk/core';
import { Dealer, type Event } from 'zeromq';
import type { Carrier, Transmission } from './carrier.js';
import { hasHostName, parseEndpoint, resolveEndpoint } from './endpoint.js';
import type { PackedFrame } from './frame.js';
import { greets } from './greeting.js';
import type { DialOption } from './identification.js';
import type { MailboxLimits } from './limits.js';
import type { ThrottledLog } from './log.js';
import { hearEvents } from './monitor.js';
import { receive } from './receive.js';
import { dealerOptions } from './socket-options.js';

/** Why a process that listens does not take our connection. */
export type AuthFailure =
  /** The peer requires keys, and this process has none. */
  | 'keyNeeded'
  /** The peer has no keys, but must prove itself with one. */
  | 'keyUnknown'
  /** It knows none of our keys, or we none of its. */
  | 'keyRefused'
  /** It takes connections and closes them before it has greeted: it is not there, and something before it is. */
  | 'closed';

const PROBLEMS: Readonly<Record<AuthFailure, string>> = {
  keyNeeded: 'wants keys',
  keyUnknown: 'has no keys, and this process has some',
  keyRefused: 'rejects this process’s key, or has a different public key than expected',
  closed:
    'closes connections before the handshake: it is not running, or it is behind a proxy without a backend',
};

/** Describes the failure, as in `tcp://… accepts only clients with a key`. */
export function describeAuthFailure(endpoint: string, why: AuthFailure): string {
  return `${endpoint} ${PROBLEMS[why]}`;
}

/** One has keys, the other has none. */
function isMismatch(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_ZMTP_MECHANISM_MISMATCH';
}

/** Pauses between two rounds grow so often, and then stay within `reconnectIntervalMaxMs` anyhow. */
const PAUSE_DOUBLINGS_MAX = 16;

interface DealerOptions {
  readonly endpoint: string;
  /** How to connect by the keys of the present, to be tried in turn. */
  readonly ways: () => readonly DialOption[];
  readonly limits: MailboxLimits;
  readonly log: ThrottledLog;
  /** Called when every way was refused, and with undefined once one is not. */
  readonly onAuthFailure: (why: AuthFailure | undefined) => void;
  /** Called when a connection that stood breaks, some milliseconds after the peer has ended; costs two more sockets. */
  readonly onBroken?: (() => void) | undefined;
  /** For a client: takes what the peer answers over this connection, and what its key has proven it to be. */
  readonly receiver?: (parts: readonly Buffer[], proven: Role | undefined) => number;
}

/**
 * Carries frames to a listening process. Retries forever if it is unreachable. With keys there may be several
 * ways to connect: during rotation a peer uses old or new keys. After a refusal the next way gets a new
 * socket, so that state of the last attempt is not mistaken for the new one. (ZeroMQ itself would give up
 * after some refusals, and retry after others.)
 */
export class DealerCarrier implements Carrier {
  readonly #options: DealerOptions;
  readonly #isKeyed: boolean;
  readonly #hasName: boolean;
  readonly #redialTimer: NodeJS.Timeout | undefined;
  #socket: Dealer;
  #dialled: string | undefined;
  /** Which of the ways is tried, or was accepted. */
  #way = 0;
  /** Ways that were refused since the last that was not. */
  #refusals = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** With keys, mail is kept back until a way was accepted: it would be lost with the socket of another. */
  #isAccepted = false;
  readonly #isWatched: boolean;
  #stands = false;
  /** A frame waits until the socket takes it. */
  #isSending = false;
  #accepted: Promise<void> | undefined;
  #onAccepted: () => void = () => {};

  /** @throws InvalidEndpointError, or ZeroMQ's error if there are no more sockets to be had. */
  constructor(options: DealerOptions) {
    const { endpoint, limits } = options;
    this.#hasName = hasHostName(parseEndpoint(endpoint));
    this.#options = options;
    this.#isKeyed = options.ways()[0]?.curve !== undefined;
    this.#isWatched = this.#isKeyed || options.receiver !== undefined || options.onBroken !== undefined;
    this.#socket = this.#openSocket();
    if (this.#hasName) this.#redialTimer = setInterval(() => this.#redial(), limits.redialIntervalMs).unref();
  }

  get isStanding(): boolean | undefined {
    return this.#isWatched ? this.#stands : undefined;
  }

  async transmit(frame: PackedFrame): Promise<Transmission> {
    const { endpoint, log } = this.#options;
    for (;;) {
      if (this.#socket.closed || (this.#isKeyed && !this.#isAccepted)) await this.#untilAccepted();
      const socket = this.#socket;
      this.#isSending = true;
      try {
        await socket.send(frame.bytes);
        return 'sent';
      } catch (error) {
        if (this.#isClosed) return 'gone';
        const { code, message } = error as NodeJS.ErrnoException;
        // The socket has made way for another one, which takes the frame; or its connection broke as it became writable.
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
    this.#onAccepted();
  }

  /** Connects anew, with the keys of the present. What ZeroMQ holds is lost, as with any connection that breaks. */
  rekey(): void {
    if (this.#isClosed || !this.#isKeyed) return;
    clearTimeout(this.#retryTimer);
    this.#way = 0;
    this.#refusals = 0;
    this.#isAccepted = false;
    this.#socket.close();
    this.#reopen();
  }

  #untilAccepted(): Promise<void> {
    this.#accepted ??= new Promise((resolve) => {
      this.#onAccepted = resolve;
    });
    return this.#isClosed ? Promise.resolve() : this.#accepted;
  }

  /** @throws ZeroMQ's error if there are no more sockets to be had. */
  #openSocket(): Dealer {
    const { endpoint, limits, log, receiver } = this.#options;
    const ways = this.#options.ways();
    const way = ways[this.#way % ways.length] as DialOption;
    const socket = new Dealer(dealerOptions(limits, way, receiver !== undefined));
    this.#socket = socket;
    this.#dialled = undefined;
    this.#stands = false;
    if (this.#isWatched) void hearEvents(socket, (event) => this.#heard(socket, event));
    if (this.#hasName) {
      void this.#dial();
    } else {
      this.#connect(endpoint);
    }
    if (receiver !== undefined) void receive(socket, (parts) => receiver(parts, way.role), limits, log);
    return socket;
  }

  #heard(socket: Dealer, event: Event): void {
    if (socket.closed) return;
    switch (event.type) {
      case 'handshake':
        this.#isAccepted = true;
        this.#stands = true;
        if (this.#refusals > 0) this.#options.onAuthFailure(undefined);
        this.#refusals = 0;
        this.#accepted = undefined;
        this.#onAccepted();
        break;
      case 'disconnect':
        this.#isAccepted = false;
        // A handshake that fails ends in the same event, and then there was nobody to lose.
        if (this.#stands) {
          this.#stands = false;
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
        // A peer that disconnects may not know our keys. A peer without keys disconnected because it is
        // exiting.
        if (this.#isKeyed) this.#refused('closed');
        break;
      default:
        break;
    }
  }

  /**
   * Tries the next way: at once as long as there is one that was not tried, then with growing pauses.
   *
   * @param keyed why, where we have keys
   */
  #refused(keyed: 'keyUnknown' | 'keyRefused' | 'closed'): void {
    const { limits } = this.#options;
    const ways = this.#options.ways();
    this.#isAccepted = false;
    this.#refusals++;
    const rounds = Math.floor(this.#refusals / ways.length);
    if (this.#refusals % ways.length === 0) {
      const why = this.#isKeyed ? keyed : 'keyNeeded';
      if (why === 'closed') void this.#tellClosed();
      else this.#tellRefused(why);
    }
    const pauseMs =
      rounds === 0 ? 0 : limits.reconnectIntervalMs * 2 ** Math.min(rounds, PAUSE_DOUBLINGS_MAX);
    this.#way = (this.#way + 1) % ways.length;
    this.#socket.close();
    this.#reopenIn(Math.min(pauseMs, limits.reconnectIntervalMaxMs));
  }

  #tellRefused(why: AuthFailure): void {
    const { endpoint, log, onAuthFailure } = this.#options;
    log.warn(endpoint, 'keys', describeAuthFailure(endpoint, why));
    onAuthFailure(why);
  }

  /** A connection closed before the greeting means unknown keys or no process: a live process sends a greeting. */
  async #tellClosed(): Promise<void> {
    const { endpoint, limits } = this.#options;
    const isThere = await greets(endpoint, limits.handshakeTimeoutMs);
    if (this.#refusals > 0 && !this.#isClosed) this.#tellRefused(isThere ? 'keyRefused' : 'closed');
  }

  #reopenIn(pauseMs: number): void {
    this.#retryTimer = setTimeout(() => this.#reopen(), pauseMs).unref();
  }

  /** Opens the next socket, or tries again where there is none to be had now. */
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
   * A process that was moved to another machine keeps its host name, and gets another address. The socket is not asked whether
   * it is writable: the answer takes what would have woken a send that waits, which then waits for ever.
   */
  #redial(): void {
    const isCut = this.#isWatched ? !this.#stands : this.#isSending;
    if (isCut && !this.#socket.closed) void this.#dial();
  }

  async #dial(): Promise<void> {
    const { endpoint, log } = this.#options;
    const socket = this.#socket;
    try {
      const resolved = await resolveEndpoint(endpoint);
      if (!socket.closed && resolved !== this.#dialled) this.#connect(resolved);
    } catch (error) {
      log.warn(endpoint, 'dial', (error as Error).message);
    }
  }

  #connect(resolved: string): void {
    if (this.#dialled !== undefined) this.#socket.disconnect(this.#dialled);
    const isIpv6 = resolved.includes('[');
    if (this.#socket.ipv6 !== isIpv6) this.#socket.ipv6 = isIpv6;
    this.#socket.connect(resolved);
    this.#dialled = resolved;
  }
}
