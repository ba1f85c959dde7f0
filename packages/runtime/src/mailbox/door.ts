import type { Address } from '@goshawk/core';
import { messageHandled } from '../diagnostics/channels.js';
import { count, type MailboxCounters, type RefusalReason } from './counters.js';
import type { Directory, KnownProcess } from './directory.js';
import { MalformedFrameError } from './errors.js';
import { type Mail, type OpenedFrame, openFrame } from './frame.js';
import type { Incarnations } from './incarnations.js';
import type { MailboxLimits } from './limits.js';
import type { ThrottledLog } from './log.js';
import {
  ANY_INCARNATION,
  isClientEndpoint,
  type ProcessName,
  parseProcessName,
  processName,
} from './party-name.js';

/** The body is the handler's own, but binary in it is a view of the frame: to be copied rather than kept. */
export type Handler = (from: Address, body: unknown) => void;

export interface DoorOptions {
  /** Name of this process. */
  readonly process: string;
  readonly incarnation: string;
  readonly directory: Directory;
  readonly incarnations: Incarnations;
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly log: ThrottledLog;
  /** Another incarnation than before was heard at an endpoint. */
  readonly onSuccessor: (endpoint: string) => void;
  readonly onHandlerError: (index: number, error: unknown) => void;
}

const UNPRINTABLE = /[^\x20-\x7e]/g;
const SHOWN_NAME_LENGTH = 80;

/**
 * Where everything comes in. A frame is opened, checked and addressed here, once; what does not pass is
 * counted, logged now and then, and dropped. Nothing that a peer sends makes any of this throw.
 */
export class Door {
  private readonly options: DoorOptions;
  private readonly handlers: (Handler | undefined)[] = [];
  private isClosed = false;

  constructor(options: DoorOptions) {
    this.options = options;
  }

  register(index: number, handler: Handler): void {
    this.handlers[index] = handler;
  }

  unregister(index: number): void {
    this.handlers[index] = undefined;
  }

  isRegistered(index: number): boolean {
    return this.handlers[index] !== undefined;
  }

  close(): void {
    this.isClosed = true;
  }

  /**
   * What arrived at the ROUTER: the routing id of the connection, which names the sending process, and a
   * frame.
   *
   * @returns how many messages the frame held.
   */
  acceptFromPeer([routingId, bytes, ...rest]: readonly Buffer[]): number {
    const name = routingId?.toString() ?? '';
    const sender = parseProcessName(name);
    if (sender === undefined || sender.incarnation === ANY_INCARNATION) {
      const shown = name.replace(UNPRINTABLE, '?').slice(0, SHOWN_NAME_LENGTH);
      return this.refuse(shown, 'unknownSender', `"${shown}" is not the name of a process`);
    }
    if (bytes === undefined || rest.length > 0) {
      return this.refuse(name, 'malformed', 'a frame has one part');
    }
    const frame = this.open(name, bytes);
    return frame === undefined ? 0 : this.admit(name, sender, frame, bytes.length);
  }

  /** What arrived at a client over the connection that it made to the endpoint. */
  acceptReply(endpoint: string, [bytes, ...rest]: readonly Buffer[]): number {
    if (bytes === undefined || rest.length > 0) {
      return this.refuse(endpoint, 'malformed', 'a frame has one part');
    }
    const frame = this.open(endpoint, bytes);
    if (frame === undefined) {
      return 0;
    }
    const { sender: incarnation } = frame;
    if (incarnation === null || incarnation === ANY_INCARNATION) {
      return this.refuse(endpoint, 'unknownSender', 'a reply must say which process sent it');
    }
    return this.admit(processName(endpoint, incarnation), { endpoint, incarnation }, frame, bytes.length);
  }

  /** What parties of this process send to each other; counted when it was sent. */
  acceptLocal(bytes: Buffer): void {
    const frame = this.open(this.options.process, bytes);
    if (frame !== undefined) {
      this.deliver(this.options.process, frame);
    }
  }

  private open(peer: string, bytes: Buffer): OpenedFrame | undefined {
    const { incarnation, limits } = this.options;
    if (this.isClosed) {
      return undefined;
    }
    if (bytes.length > limits.frameBytesMax) {
      const message = `a frame of ${bytes.length} bytes; at most ${limits.frameBytesMax} are accepted`;
      this.refuse(peer, 'tooLarge', message);
      return undefined;
    }
    try {
      const frame = openFrame(bytes, limits);
      if (frame.target === incarnation || frame.target === ANY_INCARNATION) {
        return frame;
      }
      this.refuse(peer, 'wrongTarget', `a frame for incarnation ${frame.target}; this one is ${incarnation}`);
    } catch (error) {
      if (!(error instanceof MalformedFrameError)) {
        throw error;
      }
      this.refuse(peer, 'malformed', error.message);
    }
    return undefined;
  }

  private admit(name: string, sender: ProcessName, frame: OpenedFrame, bytes: number): number {
    if (!this.isAlive(sender)) {
      return this.refuse(name, 'oldSender', 'a frame from an incarnation that was superseded');
    }
    const messages = this.deliver(name, frame);
    count(this.options.counters.received, { messages, bytes });
    return messages;
  }

  private isAlive({ endpoint, incarnation }: ProcessName): boolean {
    if (isClientEndpoint(endpoint)) {
      return true;
    }
    const standing = this.options.incarnations.heard(endpoint, incarnation, performance.now());
    if (standing === 'successor') {
      this.options.onSuccessor(endpoint);
    }
    return standing !== 'retired';
  }

  private deliver(name: string, { mail }: OpenedFrame): number {
    const senders = this.addressesOf(name, mail);
    for (const [i, letter] of mail.entries()) {
      const handler = this.handlers[letter[1]];
      if (handler === undefined) {
        this.options.counters.dropped.noSuchParty++;
      } else if (messageHandled.hasSubscribers) {
        this.handleWatched(handler, senders[i] as Address, name, letter);
      } else {
        this.handle(handler, senders[i] as Address, letter);
      }
    }
    return senders.length;
  }

  private handle(handler: Handler, from: Address, [, index, body]: Mail): void {
    try {
      handler(from, body);
    } catch (error) {
      this.options.counters.handlerErrors++;
      this.options.onHandlerError(index, error);
    }
  }

  private handleWatched(handler: Handler, from: Address, name: string, letter: Mail): void {
    const [fromIndex, toIndex, body] = letter;
    // Before the handler has it: the body is used up then.
    const code: unknown = Array.isArray(body) ? body[0] : undefined;
    const startedAt = performance.now();
    this.handle(handler, from, letter);
    messageHandled.publish({ from: name, fromIndex, to: this.options.process, toIndex, code, startedAt });
  }

  /** Before any handler runs: a handler may forget parties, and must not find a half-known process. */
  private addressesOf(name: string, mail: readonly Mail[]): Address[] {
    const { directory } = this.options;
    const process = directory.process(name) as KnownProcess;
    return mail.map(([from]) => directory.internParty(process, from));
  }

  private refuse(peer: string, reason: RefusalReason, message: string): 0 {
    this.options.counters.refused[reason]++;
    this.options.log.warn(peer, reason, `dropped a frame from ${peer}: ${message}`);
    return 0;
  }
}
