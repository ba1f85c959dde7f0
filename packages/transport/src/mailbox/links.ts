import { ROLES, type Role } from '@goshawk/core';
import type { MailboxCounters } from './counters.js';
import { type AuthFailure, DealerCarrier } from './dealer-carrier.js';
import type { Directory, KnownProcess } from './directory.js';
import type { FrameReceiver } from './frame-receiver.js';
import type { Identification } from './identification.js';
import type { Incarnations } from './incarnations.js';
import type { MailboxLimits } from './limits.js';
import { Link } from './link.js';
import type { Listener } from './listen.js';
import { LocalCarrier } from './local-carrier.js';
import type { ThrottledLog } from './log.js';
import { Outbox, type SharedRoom } from './outbox.js';
import { anyIncarnationOf, claimedRole, isClientEndpoint, type ProcessName, placeOf } from './party-name.js';
import { ReplyCarrier } from './reply-carrier.js';

interface LinksOptions {
  /** Name, endpoint and incarnation of this process. */
  readonly process: string;
  readonly endpoint: string;
  readonly incarnation: string;
  /** Listener for replies to clients; undefined in a client. */
  readonly listener: Listener | undefined;
  readonly directory: Directory;
  readonly receiver: FrameReceiver;
  readonly identification: Identification;
  readonly incarnations: Incarnations;
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly log: ThrottledLog;
  /** Called when a listening process requires another key or any key, and with undefined once it accepts this one. */
  readonly onAuthFailure: (endpoint: string, why: AuthFailure | undefined) => void;
  /** Called when the connection to the process at a place broke; only for central. */
  readonly onBroken: (endpoint: string, place: string) => void;
}

/** Maximum delay of messages that may wait. ms */
const WAIT_MS = 20;

/** All outbound connections. Each opens on its first message and closes when idle. They are flushed at the end of a turn. */
export class Links {
  readonly #options: LinksOptions;
  /** The key is the place, or the endpoint for clients, which have none. */
  readonly #links = new Map<string, Link>();
  /** Those that this process dialed. */
  readonly #outbound = new Set<Link>();
  readonly #replies: SharedRoom;
  #due: Link[] = [];
  /** Those whose messages may be delayed for a moment. */
  readonly #waiting = new Set<Link>();
  #waitTimer: NodeJS.Timeout | undefined;
  readonly #sweepTimer: NodeJS.Timeout;

  constructor(options: LinksOptions) {
    this.#options = options;
    this.#replies = { bytes: 0, bytesMax: options.limits.repliesBytesMax };
    this.#sweepTimer = setInterval(() => this.#closeIdle(), options.limits.idleMs / 2).unref();
  }

  /** @returns undefined if the process is unreachable, which is logged */
  to(process: KnownProcess): Link | undefined {
    return this.#links.get(process.place) ?? this.#sameServer(process) ?? this.#open(process);
  }

  /** Reports whether messages to the process wait for a connection. */
  holdsBack(process: KnownProcess): boolean {
    return this.#known(process)?.isHeldBack ?? false;
  }

  /** Reports whether a connection to the process is established. */
  isConnectedTo(process: KnownProcess): boolean {
    return this.#known(process)?.isBroken === false;
  }

  #known(process: KnownProcess): Link | undefined {
    return this.#links.get(process.place) ?? this.#sameServer(process);
  }

  /** A client that dialed an endpoint of unknown role keeps using that connection once the role is known. */
  #sameServer(process: ProcessName): Link | undefined {
    const { endpoint } = process;
    if (claimedRole(process) !== undefined) return this.#links.get(endpoint);
    const roles = ROLES.map((role) =>
      this.#links.get(placeOf({ endpoint, incarnation: anyIncarnationOf(role) })),
    );
    return roles.find((link) => link !== undefined);
  }

  /**
   * Schedules a flush at the end of this turn.
   *
   * The end is the immediate, not the end of the microtasks: ZeroMQ delivers everything that has arrived in one run of
   * microtasks, so the answers to ten frames leave in one. If 16 processes send to one that forwards their messages, that takes
   * 2.3 µs of CPU per message instead of 7.1, and reaches 240,000 messages per second instead of 80,000; a single request and
   * reply take 0.06 ms either way.
   */
  schedule(link: Link): void {
    if (link.isDue) return;
    link.isDue = true;
    if (this.#due.push(link) === 1) setImmediate(() => this.#flush());
  }

  /** Schedules a flush with the next message to the process, or after a short delay. */
  scheduleLater(link: Link): void {
    this.#waiting.add(link);
    this.#waitTimer ??= setTimeout(() => this.#waitNoLonger(), WAIT_MS).unref();
  }

  #waitNoLonger(): void {
    this.#waitTimer = undefined;
    for (const link of this.#waiting) if (!link.isIdle) this.schedule(link);
    this.#waiting.clear();
  }

  /** Handles a new incarnation at a place. */
  supersede(successor: ProcessName): void {
    const place = placeOf(successor);
    const link = this.#links.get(place) ?? this.#sameServer(successor);
    link?.supersede(this.#options.incarnations.retiredAt(place));
  }

  /** Reconnects outbound connections with the current keys. */
  rekey(): void {
    for (const link of this.#outbound) link.rekey();
  }

  /** Sends queued messages for at most `flushMs`, then closes. */
  async close(flushMs: number): Promise<void> {
    clearInterval(this.#sweepTimer);
    clearTimeout(this.#waitTimer);
    this.#waitNoLonger();
    this.#flush();
    const links = [...this.#links.values()];
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, flushMs);
    });
    await Promise.race([Promise.all(links.map((link) => link.drained())), timeout]);
    clearTimeout(timer);
    for (const link of links) link.close(flushMs);
    this.#links.clear();
    this.#outbound.clear();
    this.#options.counters.outboundConnections = 0;
  }

  #flush(): void {
    const due = this.#due;
    this.#due = [];
    const nowMs = performance.now();
    for (const link of due) link.flush(nowMs);
  }

  #open(process: KnownProcess): Link | undefined {
    const { endpoint, place } = process;
    try {
      const link = this.#create(process);
      this.#links.set(place, link);
      return link;
    } catch (error) {
      // A peer can name any endpoint, and sockets can run out; neither must stop the process.
      const { code, message } = error as NodeJS.ErrnoException;
      const sockets = `cannot open more than ${this.#options.limits.socketsMax} sockets`;
      const hint = code === 'EMFILE' ? `; raise the number of open files (ulimit -n); ${sockets}` : '';
      this.#options.log.warn(endpoint, 'open', `cannot connect to ${endpoint}: ${message}${hint}`);
      return undefined;
    }
  }

  /** @throws if the endpoint is invalid or unreachable, or no more sockets are available */
  #create({ endpoint, name, place, role, routingId }: KnownProcess): Link {
    const options = this.#options;
    const { counters, limits, log, incarnation } = options;
    const retired = options.incarnations.retiredAt(place);
    if (endpoint === options.endpoint) {
      const carrier = new LocalCarrier((bytes) => options.receiver.acceptLocal(bytes));
      const outbox = new Outbox(null, limits);
      return new Link({ peer: name, outbox, carrier, traffic: counters.local, retired }, options);
    }
    if (isClientEndpoint(endpoint)) {
      if (options.listener === undefined) {
        throw new Error('the client has no connection to this process');
      }
      const client = { name, routingId: () => options.directory.routingIdOf(name) ?? routingId ?? name };
      const carrier = new ReplyCarrier(options.listener, client, log);
      const outbox = new Outbox(incarnation, limits, this.#replies);
      return new Link({ peer: name, outbox, carrier, traffic: counters.sent, retired }, options);
    }
    const carrier = this.#dial(endpoint, place, role);
    const outbox = new Outbox(null, limits);
    const link = new Link({ peer: endpoint, outbox, carrier, traffic: counters.sent, retired }, options);
    this.#outbound.add(link);
    counters.outboundConnections = this.#outbound.size;
    return link;
  }

  #dial(endpoint: string, place: string, role: Role | undefined): DealerCarrier {
    const { identification, limits, log, listener, receiver, onAuthFailure, onBroken } = this.#options;
    const ways = () => identification.dialOptionsFor({ endpoint, role });
    const dealer = {
      endpoint,
      ways,
      limits,
      log,
      onAuthFailure: (why: AuthFailure | undefined) => onAuthFailure(endpoint, why),
      // All processes follow central. Monitoring all peers would take three sockets for each of ten thousand workers.
      onBroken: role === 'central' ? () => onBroken(endpoint, place) : undefined,
    };
    return listener === undefined
      ? new DealerCarrier({
          ...dealer,
          receiver: (parts, proven) => receiver.acceptReply(endpoint, parts, proven),
        })
      : new DealerCarrier(dealer);
  }

  /**
   * Closes outbound connections that are idle; they reopen on demand. A client keeps established ones, because replies arrive
   * over them.
   */
  #closeIdle(): void {
    const { limits, counters, listener } = this.#options;
    const horizonMs = performance.now() - limits.idleMs;
    for (const [place, link] of this.#links) {
      const mayClose = listener !== undefined || isClientEndpoint(place) || link.isBroken;
      if (mayClose && link.isIdle && link.lastUsedMs < horizonMs) {
        link.close(0);
        this.#links.delete(place);
        this.#outbound.delete(link);
      }
    }
    counters.outboundConnections = this.#outbound.size;
  }
}
