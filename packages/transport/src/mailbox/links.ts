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
  /** Listener that replies to clients go through; undefined in a client. */
  readonly listener: Listener | undefined;
  readonly directory: Directory;
  readonly receiver: FrameReceiver;
  readonly identification: Identification;
  readonly incarnations: Incarnations;
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly log: ThrottledLog;
  /** A listening process requires a different key or any key; undefined once it accepts this one. */
  readonly onAuthFailure: (endpoint: string, why: AuthFailure | undefined) => void;
  /** The connection to the process at a place broke. Called for central only. */
  readonly onBroken: (endpoint: string, place: string) => void;
}

/** How long mail waits that may. ms */
const WAIT_MS = 20;

/**
 * All ways out of this process, each opened when something is sent there first and closed when nothing
 * was for long; and the end of the turn, at which they are flushed.
 */
export class Links {
  readonly #options: LinksOptions;
  /** Links by place; clients, which have none, by endpoint. */
  readonly #links = new Map<string, Link>();
  /** Those that this process dialled. */
  readonly #outbound = new Set<Link>();
  readonly #replies: SharedRoom;
  #due: Link[] = [];
  /** Links whose messages may be delayed for a moment. */
  readonly #waiting = new Set<Link>();
  #waitTimer: NodeJS.Timeout | undefined;
  readonly #sweepTimer: NodeJS.Timeout;

  constructor(options: LinksOptions) {
    this.#options = options;
    this.#replies = { bytes: 0, bytesMax: options.limits.repliesBytesMax };
    this.#sweepTimer = setInterval(() => this.#closeIdle(), options.limits.idleMs / 2).unref();
  }

  /** @returns undefined, and the reason is logged, if there is no way to the process. */
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
   * The link has something for the end of this turn.
   *
   * The end is the immediate, not the end of the microtasks: ZeroMQ hands out all that has arrived in one
   * run of microtasks, and what is sent in answer to ten frames then leaves in one. Where 16 processes send
   * to one that passes their messages on, that is 2.3 µs of processor for a message instead of 7.1 and 240,000
   * of them a second instead of 80,000; a lone request and reply take the same 0.06 ms either way.
   */
  schedule(link: Link): void {
    if (link.isDue) return;
    link.isDue = true;
    if (this.#due.push(link) === 1) setImmediate(() => this.#flush());
  }

  /** The link has something that leaves with what is sent there next, or in a moment. */
  scheduleLater(link: Link): void {
    this.#waiting.add(link);
    this.#waitTimer ??= setTimeout(() => this.#waitNoLonger(), WAIT_MS).unref();
  }

  #waitNoLonger(): void {
    this.#waitTimer = undefined;
    for (const link of this.#waiting) if (!link.isIdle) this.schedule(link);
    this.#waiting.clear();
  }

  /** A successor was heard at its place. */
  supersede(successor: ProcessName): void {
    const place = placeOf(successor);
    const link = this.#links.get(place) ?? this.#sameServer(successor);
    link?.supersede(this.#options.incarnations.retiredAt(place));
  }

  /** Connections that this process has made are made anew, with the keys of the present. */
  rekey(): void {
    for (const link of this.#outbound) link.rekey();
  }

  /** Lets what waits leave for at most `flushMs`, then closes. */
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
      // A peer can name any endpoint, and sockets can run out; neither is a reason to stop.
      const { code, message } = error as NodeJS.ErrnoException;
      const sockets = `cannot open more than ${this.#options.limits.socketsMax} sockets`;
      const hint = code === 'EMFILE' ? `; raise the number of open files (ulimit -n); ${sockets}` : '';
      this.#options.log.warn(endpoint, 'open', `cannot connect to ${endpoint}: ${message}${hint}`);
      return undefined;
    }
  }

  /** @throws if there is no such endpoint, no way to it, or no more sockets. */
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
        throw new Error('a client is answered only by a process that it has a connection to');
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
      // Everybody follows central. To watch all peers would take three sockets for each of ten thousand workers.
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
   * Connections that nothing was sent over for long are closed, and opened again on demand. A client keeps
   * those that stand: what it waits for comes back over them.
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
