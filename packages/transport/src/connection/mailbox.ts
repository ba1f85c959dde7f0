import { type Address, type ClientKey, ROLES, type Role } from '@goshawk/core';
import { messageSent } from '../channels.js';
import { type DropReason, type MailboxCounters, newCounters } from '../counters.js';
import { sendQueues, UnreadReplies } from '../defense/unread-replies.js';
import type { ZapDomain } from '../defense/zap.js';
import { InvalidEndpointError } from '../errors.js';
import { versionNotice } from '../frames/frame.js';
import { Directory } from '../identity/directory.js';
import {
  type Identification,
  rolesAcceptedBy,
  SignedIdentification,
  UnverifiedIdentification,
} from '../identity/identification.js';
import { Incarnations } from '../identity/incarnations.js';
import {
  claimedKey,
  claimedRole,
  clientEndpoint,
  isAnyIncarnation,
  isIncarnation,
  isPartyIndex,
  partyName,
  processName,
} from '../identity/party-name.js';
import { boundsProblem, type KeyRing, MEMBER_ROLES, permitsName, type WorkerClaims } from '../keys/index.js';
import { completeLimits, type MailboxLimits } from '../limits.js';
import { type MailLogger, ThrottledLog } from '../log.js';
import { randomName } from '../random-name.js';
import { RejectedConnections } from '../sockets/rejected-connections.js';
import { type Keyed, prepareContext } from '../sockets/socket-options.js';
import { FrameReceiver, type Handler } from './frame-receiver.js';
import { Inbound } from './inbound.js';
import type { Listener } from './listen.js';
import type { AuthFailure } from './outbound-connection.js';
import { PeerSenders } from './peer-senders.js';
import { probeSelf, type ReachedProcess } from './self-probe.js';

export interface MailboxOptions {
  /** Listen address: `tcp://HOST:PORT`, port 0 for any. Without it the process is a client. */
  readonly bind?: string;
  /** Address for peers, if it differs from the listen address; port 0 means the actual port. */
  readonly advertise?: string;
  /** Random name drawn at the start; distinguishes this process from earlier ones at its endpoint. */
  readonly incarnation: string;
  /** Encrypts all traffic, and rejects peers without a key of the cluster. */
  readonly keys?: KeyRing;
  readonly limits?: Partial<MailboxLimits>;
  readonly directory?: Directory;
  readonly logger: MailLogger;
  /** Called at intervals with the number of rejected connections by reason. */
  readonly onRejected?: (attempts: object) => void;
  /** Called when a process rejects our connection because of keys, and with undefined when it accepts it. */
  readonly onAuthFailure?: (endpoint: string, why: AuthFailure | undefined) => void;
  /** Called in a client when the process at an endpoint replies in another version of the protocol. */
  readonly onOtherVersion?: (endpoint: string, version: number) => void;
  /**
   * Called with central's parties when the connection to central breaks, and in central with those of a scheduler. This
   * happens within milliseconds after the process exits, and when only the connection fails.
   */
  readonly onDisconnected?: (parties: readonly Address[]) => void;
}

export type SendResult = 'accepted' | DropReason;

/** Parts that `open` creates before the mailbox. */
interface Parts {
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly rejected: RejectedConnections;
  readonly keyed: Keyed | undefined;
  readonly listener: Listener | undefined;
  readonly zap: ZapDomain | undefined;
  /** Address that each admitted key last connected from, by public key. */
  readonly addresses: ReadonlyMap<string, string>;
}

/**
 * Sends messages between *parties*. A process may have many parties; it receives on one ROUTER socket and sends on one
 * DEALER socket per peer.
 *
 * Messages to one process share a frame, which leaves at the end of the event loop's turn. Messages between two parties
 * stay in order. A message may be lost when a process ends, a connection breaks or a limit is reached, but never
 * reaches another incarnation than intended. Bodies are JSON-like values and binary, see `msgpack.ts`. They are
 * encoded when sent, so parties never share an object, even within a process.
 */
export class Mailbox {
  /** Endpoint of the process: `tcp://…`, or `client:…` if it does not listen. */
  readonly endpoint: string;
  readonly incarnation: string;
  /** Name of the process: endpoint and incarnation. */
  readonly process: string;
  readonly directory: Directory;
  readonly counters: MailboxCounters;
  readonly #receiver: FrameReceiver;
  readonly #senders: PeerSenders;
  readonly #log: ThrottledLog;
  readonly #parts: Parts;
  readonly #identification: Identification;
  /** Undefined in a client. */
  readonly #inbound: Inbound | undefined;
  #ownProbeArrived = false;
  readonly #incarnations: Incarnations;
  #closing: Promise<void> | undefined;

  /**
   * Opens the mailbox of this process.
   *
   * @throws AddressInUseError, AddressUnavailableError, UnresolvableHostError, InvalidEndpointError; RangeError for contradictory
   * limits, or an incarnation that is invalid or does not match its keys' role
   */
  static async open(options: MailboxOptions): Promise<Mailbox> {
    const { bind, advertise, incarnation, keys } = options;
    const limits = completeLimits(options.limits);
    if (!isIncarnation(incarnation) || isAnyIncarnation(incarnation)) {
      throw new RangeError(`"${incarnation}" is not an incarnation; expected 1 to 64 of A-Z a-z 0-9 _ -`);
    }
    if (keys !== undefined && keys.role !== roleOf(options)) {
      throw new RangeError(`these are keys of a ${keys.role}, but "${incarnation}" has another role`);
    }
    if (
      keys !== undefined &&
      bind !== undefined &&
      keys.name !== claimedKey({ endpoint: bind, incarnation })
    ) {
      throw new RangeError(`"${incarnation}" does not name its key, ${keys.name ?? 'that of its role'}`);
    }
    prepareContext(limits);
    const counters = newCounters();
    const rejected = new RejectedConnections(
      counters,
      options.logger,
      limits.rejectionsLogIntervalMs,
      options.onRejected,
    );
    const addresses = new Map<string, string>();
    const keyed: Keyed | undefined = keys && { ring: keys, zapDomain: '' };
    let zap: ZapDomain | undefined;
    let listener: Listener | undefined;
    try {
      if (bind !== undefined) {
        // Loaded on demand, because clients need neither and should start fast.
        const [{ listen }, { enterZapDomain }] = await Promise.all([
          import('./listen.js'),
          import('../defense/zap.js'),
        ]);
        if (keyed !== undefined) {
          zap = await enterZapDomain(admission(keyed, rejected, addresses));
          keyed.zapDomain = zap.name;
        }
        listener = await listen(bind, advertise, limits, keyed);
      }
      return new Mailbox(options, { limits, counters, rejected, keyed, listener, zap, addresses });
    } catch (error) {
      listener?.inboundSocket.close();
      zap?.leave();
      throw error;
    }
  }

  private constructor(options: MailboxOptions, parts: Parts) {
    const { limits, listener, counters, rejected } = parts;
    this.#parts = parts;
    this.incarnation = options.incarnation;
    this.endpoint = listener?.endpoint ?? clientEndpoint(randomName(), options.keys?.name);
    const identification = identify(options, this.endpoint);
    this.#identification = identification;
    this.process = processName(this.endpoint, this.incarnation);
    this.directory = options.directory ?? new Directory(limits.partiesMax);
    this.directory.keep(this.process);
    this.counters = counters;
    this.#log = new ThrottledLog(options.logger, limits.logIntervalMs);
    const incarnations = new Incarnations(limits.incarnationGraceMs);
    this.#incarnations = incarnations;
    const shared = {
      process: this.process,
      endpoint: this.endpoint,
      incarnation: this.incarnation,
      identification,
      limits,
      counters,
      log: this.#log,
      incarnations,
    };
    this.#receiver = new FrameReceiver({
      ...shared,
      directory: this.directory,
      onOwn: () => {
        this.#ownProbeArrived = true;
      },
      onSuccessor: (sender) => this.#senders.supersede(sender),
      // Clients of all versions can read the head of a frame. A lost notice needs no retry: the client repeats its
      // request.
      onForeignClient: (routingId) =>
        void listener?.inboundSocket.send(routingId, versionNotice(this.incarnation)).catch(() => {}),
      onOtherVersion: (endpoint, version) => options.onOtherVersion?.(endpoint, version),
    });
    const unread =
      listener &&
      new UnreadReplies(
        limits.repliesBytesMax,
        () => sendQueues(listener.port),
        () => this.#inbound?.guard('clients do not read their messages'),
      );
    this.#senders = new PeerSenders({
      ...shared,
      listener,
      unread,
      directory: this.directory,
      receiver: this.#receiver,
      onAuthFailure: (endpoint, why) => options.onAuthFailure?.(endpoint, why),
      // To watch all peers would take three sockets for each of ten thousand workers.
      watches: (role) => role === 'central' || (role === 'scheduler' && roleOf(options) === 'central'),
      onBroken: (endpoint, place) => {
        const incarnation = incarnations.currentAt(place);
        const lost = incarnation && this.directory.process(processName(endpoint, incarnation));
        if (lost) options.onDisconnected?.([...lost.parties.values()]);
      },
    });
    this.#inbound =
      listener &&
      new Inbound(listener, roleOf(options), {
        receiver: (received) => this.#receiver.acceptFromPeer(received),
        limits,
        counters,
        rejected,
        log: this.#log,
        unread: unread!,
        members: () => this.directory.members,
      });
  }

  /** Returns the address of this process's party with this index. */
  addressOf(index: number): Address {
    return this.directory.intern(partyName(this.process, index));
  }

  /**
   * Delivers messages for the party with this index to the handler.
   *
   * @throws RangeError if the index is taken, or not an integer in `0 .. PARTY_INDEX_MAX`
   */
  register(index: number, handler: Handler): void {
    checkIndex(index);
    if (this.#receiver.isRegistered(index)) throw new RangeError(`party ${index} is registered already`);
    this.#receiver.register(index, handler);
  }

  unregister(index: number): void {
    this.#receiver.unregister(index);
  }

  /**
   * Sends one message. The body is encoded immediately and may be changed afterwards.
   *
   * @param fromIndex the sending party, which receives replies
   * @param mayWait delay the message until the next one to that process, by up to 20 ms, to save a wake-up of the receiver
   * @returns 'accepted' if it was queued (it is lost if the peer, the connection or this process ends first); else the
   * reason why it was dropped, which is also counted
   * @throws RangeError if `fromIndex` is not the index of a party
   */
  send(fromIndex: number, to: Address, body: readonly unknown[], mayWait = false): SendResult {
    checkIndex(fromIndex);
    const refusal = this.#closing === undefined ? this.#post(fromIndex, to, body, mayWait) : 'closed';
    if (refusal === undefined) return 'accepted';
    this.counters.dropped[refusal]++;
    return refusal;
  }

  /**
   * Replaces the keys of this process. Peers with a revoked key lose their connection, and all others reconnect;
   * newly admitted peers can connect immediately.
   *
   * @throws RangeError for keys of another role, or of another process
   */
  rekey(ring: KeyRing): void {
    const { keyed } = this.#parts;
    const identification = this.#identification;
    if (
      keyed === undefined ||
      !(identification instanceof SignedIdentification) ||
      this.#closing !== undefined
    )
      return;
    if (ring.role !== keyed.ring.role)
      throw new RangeError(
        `these are keys of a ${ring.role}; the previous ones were of a ${keyed.ring.role}`,
      );
    const before = keyed.ring;
    if (ring.name !== before.name)
      throw new RangeError(`this is the key ${ring.name}; the previous one was ${before.name}`);
    keyed.ring = ring;
    identification.rekey(ring);
    const isOther = before.generations[0].curve.publicKey !== ring.generations[0].curve.publicKey;
    const isWhole = isOther || hasEnded(generationsOf(before), generationsOf(ring));
    const isReplaced = (key: string): boolean =>
      before.members.get(key)?.curve !== ring.members.get(key)?.curve;
    // An address from a client's configuration may lead to any process, with any key.
    const isAnyReplaced = [...before.members.keys()].some(isReplaced);
    this.#senders.rekey(
      (role, key) => isWhole || (key === undefined ? role === undefined && isAnyReplaced : isReplaced(key)),
    );
    if (isOther || hasEnded(admittedKeys(before), admittedKeys(ring))) this.#inbound?.cut();
  }

  /** Returns whether the key of a worker's or a scheduler's process permits this name in the cluster. */
  permitsName(from: Address, name: string): boolean {
    const { keyed } = this.#parts;
    const process = keyed && this.directory.partyAt(from)?.process;
    const role = MEMBER_ROLES.find((each) => each === process?.role);
    return (
      process === undefined || role === undefined || permitsName(keyed!.ring, role, claimedKey(process), name)
    );
  }

  /** Returns why the key of a worker does not permit what the worker says about itself; undefined: it does. */
  claimsProblem(from: Address, claims: WorkerClaims): string | undefined {
    const { keyed } = this.#parts;
    const process = keyed && this.directory.partyAt(from)?.process;
    if (process?.role !== 'worker') return undefined;
    return boundsProblem(keyed!.ring, claimedKey(process), claims);
  }

  /** Returns the individual key of a client; undefined for the cluster's key, or if it is not a client. */
  clientKeyOf(from: Address): ClientKey | undefined {
    const { keyed } = this.#parts;
    const process = keyed && this.directory.partyAt(from)?.process;
    const name = process?.role === 'client' ? claimedKey(process) : undefined;
    if (name === undefined) return undefined;
    return keyed!.ring.clients.get(name) ?? { name, rights: [] };
  }

  /** Returns the address that a client's key last connected from; undefined without keys. */
  lastAddressOf(from: Address): string | undefined {
    const { keyed, addresses } = this.#parts;
    if (keyed === undefined) return undefined;
    const name = this.clientKeyOf(from)?.name;
    const { clients, generations } = keyed.ring;
    const keys =
      name === undefined ? generations.map(({ peers }) => peers.client.curve) : [clients.get(name)?.curve];
    for (const key of keys) {
      const address = key === undefined ? undefined : addresses.get(key);
      if (address !== undefined) return address;
    }
    return undefined;
  }

  /** Returns whether messages to a party wait for a connection. Always false without keys, except for central. */
  isWaiting(to: Address): boolean {
    const party = this.directory.partyAt(to);
    return party !== undefined && this.#senders.isWaiting(party.process);
  }

  /** Returns whether a connection to the party's process is established. */
  isConnectedTo(to: Address): boolean {
    const party = this.directory.partyAt(to);
    return party !== undefined && this.#senders.isConnectedTo(party.process);
  }

  /** Returns the addresses that two other live processes claim, with the incarnations of both. */
  disputedAddresses(): readonly { readonly endpoint: string; readonly claimants: readonly string[] }[] {
    return this.#incarnations.disputes(performance.now()).map(({ place, current, other }) => {
      const endpoint = place.slice(place.indexOf(' ') + 1);
      return { endpoint, claimants: [current, other] };
    });
  }

  /** Determines which process answers at this process's advertised address; takes up to a few seconds. */
  probeOwnAddress(): Promise<ReachedProcess> {
    const { endpoint, incarnation } = this;
    const { limits } = this.#parts;
    const own = { endpoint, incarnation };
    const dialOptions = this.#identification.dialOptionsFor({
      endpoint,
      role: claimedRole(own),
      key: claimedKey(own),
    });
    this.#ownProbeArrived = false;
    return probeSelf({ endpoint, incarnation, dialOptions, limits, hasArrived: () => this.#ownProbeArrived });
  }

  /**
   * Closes the mailbox. Accepts no more messages, sends queued ones for at most `flushMs`, and drops the rest, so
   * that a peer that does not read cannot delay it further.
   *
   * @param flushMs `closeFlushMs` by default; 0 drops all messages
   */
  close(flushMs = this.#parts.limits.closeFlushMs): Promise<void> {
    this.#closing ??= this.#shutDown(flushMs);
    return this.#closing;
  }

  #post(fromIndex: number, to: Address, body: readonly unknown[], mayWait: boolean): DropReason | undefined {
    const party = this.directory.partyAt(to);
    if (party === undefined) return 'unknownAddress';
    const { process, index } = party;
    const link = this.#senders.to(process);
    if (link === undefined) return 'unreachable';
    let refusal = link.add(process.incarnation, fromIndex, index, body);
    if (refusal?.reason === 'overflow' && process.role === 'client' && this.#senders.makeRoom())
      refusal = link.add(process.incarnation, fromIndex, index, body);
    if (mayWait) this.#senders.scheduleLater(link);
    else this.#senders.schedule(link);
    if (refusal === undefined) {
      if (messageSent.hasSubscribers) {
        const [code] = body;
        messageSent.publish({ from: this.process, fromIndex, to: process.name, toIndex: index, code });
      }
      return undefined;
    }
    if ('error' in refusal) {
      this.#log.warn(
        process.name,
        refusal.reason,
        `cannot send to ${process.name}: ${refusal.error.message}`,
      );
    }
    return refusal.reason;
  }

  async #shutDown(flushMs: number): Promise<void> {
    const { rejected, zap } = this.#parts;
    this.#receiver.close();
    this.#inbound?.disableCuts();
    await this.#senders.close(flushMs);
    rejected.close();
    await this.#inbound?.close(flushMs);
    zap?.leave();
  }
}

function roleOf({ bind, incarnation }: MailboxOptions): Role | undefined {
  return bind === undefined ? 'client' : claimedRole({ endpoint: bind, incarnation });
}

/** Returns the identification of this process. @throws InvalidEndpointError if its name is too long */
function identify({ incarnation, keys }: MailboxOptions, endpoint: string): Identification {
  const process = processName(endpoint, incarnation);
  const identification =
    keys === undefined
      ? new UnverifiedIdentification(process)
      : new SignedIdentification(process, endpoint, keys);
  const { nameBytesMax } = identification;
  if (Buffer.byteLength(process) > nameBytesMax) {
    throw new InvalidEndpointError(endpoint, `longer than ${nameBytesMax} bytes with its incarnation`);
  }
  return identification;
}

/** Returns the public keys of the peers from which a process of this role accepts messages, in Z85. */
function admittedKeys({ role, generations, clients, members }: KeyRing): ReadonlySet<string> {
  const acceptedRoles = rolesAcceptedBy(role);
  const named = [
    ...(acceptedRoles.includes('client') ? clients.values() : []),
    ...[...members.values()].filter((member) => acceptedRoles.includes(member.role)),
  ].map(({ curve }) => curve);
  return new Set([
    ...acceptedRoles.flatMap((other) => generations.map(({ peers }) => peers[other].curve)),
    ...named,
  ]);
}

function generationsOf({ generations }: KeyRing): ReadonlySet<string> {
  return new Set(generations.map(({ peers }) => JSON.stringify(ROLES.map((role) => peers[role].curve))));
}

function hasEnded(before: ReadonlySet<string>, now: ReadonlySet<string>): boolean {
  return [...before].some((key) => !now.has(key));
}

/** Returns a function that decides whether a key may connect: only keys of roles that may send to this one may. */
function admission(keyed: Keyed, rejected: RejectedConnections, addresses: Map<string, string>) {
  let { ring } = keyed;
  let admitted = admittedKeys(ring);
  return (key: string, address: string): boolean => {
    if (ring !== keyed.ring) {
      ring = keyed.ring;
      admitted = admittedKeys(ring);
      for (const known of addresses.keys()) if (!admitted.has(known)) addresses.delete(known);
    }
    if (admitted.has(key)) {
      addresses.set(key, address);
      return true;
    }
    rejected.refused('unknownKey', address);
    return false;
  };
}

function checkIndex(index: number): void {
  if (!isPartyIndex(index)) throw new RangeError(`${index} is not the index of a party`);
}
