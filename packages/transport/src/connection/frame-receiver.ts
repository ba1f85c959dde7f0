import { type Address, ROLES, type Role } from '@goshawk/core';
import { messageHandled } from '../channels.js';
import { count, type MailboxCounters, type RefusalReason } from '../counters.js';
import { MalformedFrameError, OtherVersionError } from '../errors.js';
import { type Mail, type OpenedFrame, openFrame } from '../frames/frame.js';
import type { Directory, KnownProcess } from '../identity/directory.js';
import type { Identification, IdentifiedPeer } from '../identity/identification.js';
import type { Incarnations } from '../identity/incarnations.js';
import {
  ANY_INCARNATION,
  anyIncarnationOf,
  claimedKey,
  claimedRole,
  isAnyIncarnation,
  isClientEndpoint,
  type ProcessName,
  parseProcessName,
  placeOf,
  processName,
} from '../identity/party-name.js';
import type { MailboxLimits } from '../limits.js';
import type { ThrottledLog } from '../log.js';

/**
 * Receives a message. It may modify the body, but must copy binary values to keep them: they are views of the frame.
 */
export type Handler = (from: Address, body: unknown) => void;

interface FrameReceiverOptions {
  /** Name of this process. */
  readonly process: string;
  readonly incarnation: string;
  readonly identification: Identification;
  readonly directory: Directory;
  readonly incarnations: Incarnations;
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly log: ThrottledLog;
  /** Called when this process receives the frame with which it probes its own address. */
  readonly onOwn: () => void;
  /** Called when a new incarnation replaces the previous one at an endpoint. */
  readonly onSuccessor: (sender: ProcessName) => void;
  /** Called when a client speaks another version; `routingId` identifies its connection. */
  readonly onForeignClient: (routingId: string) => void;
  /** Called when the process at an endpoint replies to this client in another version. */
  readonly onOtherVersion: (endpoint: string, version: number) => void;
}

const UNPRINTABLE = /[^\x20-\x7e]/g;
const SHOWN_NAME_LENGTH = 80;

/**
 * Entry point of all frames. Decodes and checks each frame and calls the handlers of its messages. Counts, logs and
 * drops invalid frames; input from a peer never makes it throw.
 */
export class FrameReceiver {
  readonly #options: FrameReceiverOptions;
  readonly #handlers: (Handler | undefined)[] = [];
  /** Wildcard incarnations that match this process, such as `*`. */
  readonly #anyTargets: ReadonlySet<string>;
  readonly #ownEndpoint: string | undefined;
  /**
   * Frames that arrived before the first party was registered, so that a starting process loses none; then undefined.
   */
  #early: (readonly Buffer[])[] | undefined = [];
  #earlyBytes = 0;
  #isClosed = false;

  constructor(options: FrameReceiverOptions) {
    this.#options = options;
    const { incarnation } = options;
    // A process without a role in its name accepts frames for any role.
    const role = claimedRole({ endpoint: options.process, incarnation });
    const roles = role === undefined ? ROLES : [role];
    // Two centrals may share an endpoint, and `duplicate-centrals.ts` in central decides which one stays.
    this.#ownEndpoint = role === 'central' ? undefined : placeOf(parseProcessName(options.process)!);
    this.#anyTargets = new Set([ANY_INCARNATION, ...roles.map(anyIncarnationOf)]);
  }

  register(index: number, handler: Handler): void {
    this.#handlers[index] = handler;
    if (this.#early === undefined) return;
    // The process may register more parties in the rest of this turn.
    if (this.#early.length > 0) setImmediate(() => this.#deliverEarly());
    else this.#early = undefined;
  }

  unregister(index: number): void {
    this.#handlers[index] = undefined;
  }

  isRegistered(index: number): boolean {
    return this.#handlers[index] !== undefined;
  }

  close(): void {
    this.#isClosed = true;
  }

  /**
   * Accepts a message of the ROUTER socket. Its parts are the routing id of the connection, which names the sender,
   * and a frame.
   * @returns the number of messages in the frame
   */
  acceptFromPeer(received: readonly Buffer[]): number {
    const [routingId, bytes, ...rest] = received;
    const claimedName = routingId?.toString() ?? '';
    const sender = this.#options.identification.recognize(claimedName);
    if (sender === undefined) {
      const shown = claimedName.replace(UNPRINTABLE, '?').slice(0, SHOWN_NAME_LENGTH);
      return this.#refuse(shown, 'unknownSender', `"${shown}" is not an authenticated process name`);
    }
    const { name } = sender;
    if (placeOf(sender) === this.#ownEndpoint) return this.#handleOwnEndpoint(sender);
    if (bytes === undefined || rest.length > 0) {
      return this.#refuse(name, 'malformed', 'a frame has one part');
    }
    if (this.#early !== undefined) return this.#keep(received, bytes.length);
    const frame = this.#open(name, bytes, () => {
      if (isClientEndpoint(sender.endpoint)) this.#options.onForeignClient(claimedName);
    });
    return frame === undefined ? 0 : this.#admit(name, sender, frame, bytes.length, claimedName);
  }

  /**
   * Accepts a reply on a client's connection to the endpoint.
   * @param proven role and individual key of the peer, if there are keys
   */
  acceptReply(
    endpoint: string,
    [bytes, ...rest]: readonly Buffer[],
    proven: { readonly role?: Role; readonly key?: string | undefined } = {},
  ): number {
    if (bytes === undefined || rest.length > 0) {
      return this.#refuse(endpoint, 'malformed', 'a frame has one part');
    }
    const frame = this.#open(endpoint, bytes, (version) => this.#options.onOtherVersion(endpoint, version));
    if (frame === undefined) return 0;
    const { sender: incarnation } = frame;
    if (incarnation === null || isAnyIncarnation(incarnation)) {
      return this.#refuse(endpoint, 'unknownSender', 'a reply must name its sender');
    }
    const sender = { endpoint, incarnation };
    const { role, key } = proven;
    if (role !== undefined && (claimedRole(sender) !== role || claimedKey(sender) !== key)) {
      return this.#refuse(endpoint, 'unknownSender', `a ${role} answers under another name`);
    }
    return this.#admit(processName(endpoint, incarnation), sender, frame, bytes.length);
  }

  /** Accepts messages between parties of this process, which were counted when sent. */
  acceptLocal(bytes: Buffer): void {
    const frame = this.#open(this.#options.process, bytes);
    if (frame !== undefined) this.#deliver(this.#options.process, frame);
  }

  /** Handles a frame whose sender has this process's address: it is this process's probe of itself, or a conflict. */
  #handleOwnEndpoint({ name, endpoint, incarnation }: IdentifiedPeer): 0 {
    if (incarnation === this.#options.incarnation) {
      this.#options.onOwn();
      return 0;
    }
    const claim = `claims the address of this process, ${endpoint}: give each process a unique address (--advertise)`;
    return this.#refuse(name, 'sameAddress', claim);
  }

  #keep(received: readonly Buffer[], bytes: number): 0 {
    const { limits, counters } = this.#options;
    if (this.#earlyBytes + bytes > limits.frameBytesMax) {
      counters.dropped.noSuchParty++;
    } else {
      this.#earlyBytes += bytes;
      this.#early!.push(received);
    }
    return 0;
  }

  #deliverEarly(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const received of early) this.acceptFromPeer(received);
  }

  #open(
    peer: string,
    bytes: Buffer,
    onOtherVersion: (version: number) => void = () => {},
  ): OpenedFrame | undefined {
    const { incarnation, limits } = this.#options;
    if (this.#isClosed) return undefined;
    if (bytes.length > limits.frameBytesMax) {
      const message = `a frame of ${bytes.length} bytes; at most ${limits.frameBytesMax} are accepted`;
      this.#refuse(peer, 'tooLarge', message);
      return undefined;
    }
    try {
      const frame = openFrame(bytes, limits);
      if (frame.target === incarnation || this.#anyTargets.has(frame.target)) return frame;
      this.#refuse(
        peer,
        'wrongTarget',
        `a frame for ${frame.target}, but this is ${incarnation}: it was for an earlier process, or, if this repeats, two processes claim this address (--advertise)`,
      );
    } catch (error) {
      if (!(error instanceof MalformedFrameError)) throw error;
      const isOther = error instanceof OtherVersionError;
      this.#refuse(peer, isOther ? 'otherVersion' : 'malformed', error.message);
      if (isOther) onOtherVersion(error.version);
    }
    return undefined;
  }

  #admit(name: string, sender: ProcessName, frame: OpenedFrame, bytes: number, routingId?: string): number {
    if (!this.#isAlive(sender)) {
      const current = this.#options.incarnations.currentAt(placeOf(sender));
      return this.#refuse(
        name,
        'oldSender',
        `a frame from ${sender.incarnation}, whose address now belongs to ${current}: it was in flight, or, if this repeats, two processes claim this address (--advertise)`,
      );
    }
    const messages = this.#deliver(name, frame, routingId);
    count(this.#options.counters.received, { messages, bytes });
    return messages;
  }

  #isAlive(sender: ProcessName): boolean {
    if (isClientEndpoint(sender.endpoint)) return true;
    const { incarnations, onSuccessor } = this.#options;
    const seen = incarnations.observe(placeOf(sender), sender.incarnation, performance.now());
    if (seen === 'successor') onSuccessor(sender);
    return seen !== 'retired';
  }

  #deliver(name: string, { mail }: OpenedFrame, routingId?: string): number {
    const senders = this.#addressesOf(name, mail, routingId);
    for (const [i, letter] of mail.entries()) {
      const handler = this.#handlers[letter[1]];
      if (handler === undefined) {
        this.#options.counters.dropped.noSuchParty++;
      } else if (messageHandled.hasSubscribers) {
        this.#handleWatched(handler, senders[i] as Address, name, letter);
      } else {
        this.#handle(handler, senders[i] as Address, letter);
      }
    }
    return senders.length;
  }

  #handle(handler: Handler, from: Address, [, index, body]: Mail): void {
    try {
      handler(from, body);
    } catch (error) {
      this.#options.counters.handlerErrors++;
      this.#options.log.error(`handler of ${index}`, 'the handler of a party threw', { err: error, index });
    }
  }

  #handleWatched(handler: Handler, from: Address, name: string, letter: Mail): void {
    const [fromIndex, toIndex, body] = letter;
    // The handler may modify the body, so the code is read first.
    const code: unknown = Array.isArray(body) ? body[0] : undefined;
    const startedAt = performance.now();
    this.#handle(handler, from, letter);
    messageHandled.publish({ from: name, fromIndex, to: this.#options.process, toIndex, code, startedAt });
  }

  /** Returns the addresses of the senders. Called before any handler runs, because a handler may remove parties. */
  #addressesOf(name: string, mail: readonly Mail[], routingId: string | undefined): Address[] {
    const { directory } = this.#options;
    const process = directory.process(name) as KnownProcess;
    process.routingId = routingId;
    return mail.map(([from]) => directory.internParty(process, from));
  }

  #refuse(peer: string, reason: RefusalReason, message: string): 0 {
    this.#options.counters.refused[reason]++;
    this.#options.log.warn(peer, reason, `dropped a frame from ${peer}: ${message}`);
    return 0;
  }
}
