import {
  type Address,
  type GoshawkError,
  InputError,
  isReply,
  isReplyType,
  MESSAGE_TYPES,
  type Message,
  type Millis,
  type Reply,
} from '@goshawk/core';
import {
  type AuthFailure,
  Codec,
  DEFAULT_LIMITS,
  DecodeError,
  Directory,
  EncodeError,
  type KeyRing,
  type Logger,
  Mailbox,
  parsePartyName,
  randomName,
  type SendResult,
  watchKeys,
} from '@goshawk/transport';
import { connectionClosed } from './errors.js';

export interface Listener {
  /**
   * @param from full name of the sending party
   * @param at time of arrival, by `performance.now()`
   */
  reply(reply: Reply, from: string, at: Millis): void;
  /**
   * Called for an invalid reply, for example of a cluster with another version.
   * @param problem of the reply
   */
  garbled(problem: string): void;
  /** The connection is closed. @param why error to throw */
  cut(why: GoshawkError): void;
}

interface Handshake {
  /** Undefined: it succeeded. */
  readonly failure: AuthFailure | undefined;
  /** Whether this handshake or an earlier one succeeded. */
  readonly wasAccepted: boolean;
}

/** The protocol version of another process, and when it replied. */
interface OtherVersion {
  readonly version: number;
  readonly at: Millis;
}

/** A client is one party. */
const PARTY = 0;

const LARGEST_JOB = `the limit for a job is ${DEFAULT_LIMITS.frameBytesMax >> 20} MiB; split it, put large input into files, or write equal tasks as {count, run}`;

/** Time (ms) to send pending messages on close. It is short, because users wait for it if the peer does not respond. */
const CLOSE_FLUSH_MS = 250;

/**
 * A client's connection to the cluster: a mailbox that does not listen, and the request numbers that match replies to
 * listeners.
 */
export class Connection {
  /** Number of invalid frames. */
  badMessages = 0;
  readonly #mailbox: Mailbox;
  readonly #codec: Codec;
  readonly #logger: Logger;
  readonly #listeners = new Map<number, Listener>();
  readonly #unwatch: (() => void) | undefined;
  /** Last outcome of a handshake, by endpoint. */
  readonly #handshakes: ReadonlyMap<string, Handshake>;
  readonly #otherVersions: ReadonlyMap<string, OtherVersion>;
  #nextNumber = 1;
  #isClosed = false;

  static async open(logger: Logger, keys?: KeyRing): Promise<Connection> {
    const directory = new Directory();
    const handshakes = new Map<string, Handshake>();
    const otherVersions = new Map<string, OtherVersion>();
    const mailbox = await Mailbox.open({
      incarnation: randomName(),
      directory,
      logger,
      limits: { closeFlushMs: CLOSE_FLUSH_MS },
      onAuthFailure: (endpoint, failure) => {
        const wasAccepted = failure === undefined || handshakes.get(endpoint)?.wasAccepted === true;
        handshakes.set(endpoint, { failure, wasAccepted });
      },
      onOtherVersion: (endpoint, version) => otherVersions.set(endpoint, { version, at: performance.now() }),
      ...(keys && { keys }),
    });
    const unwatch =
      keys &&
      watchKeys(
        keys,
        (ring) => mailbox.rekey(ring),
        (problem) => logger.warn({ problem }, 'the previous keys remain in use'),
      );
    return new Connection(mailbox, logger, handshakes, otherVersions, unwatch);
  }

  private constructor(
    mailbox: Mailbox,
    logger: Logger,
    handshakes: ReadonlyMap<string, Handshake>,
    otherVersions: ReadonlyMap<string, OtherVersion>,
    unwatch: (() => void) | undefined,
  ) {
    this.#mailbox = mailbox;
    this.#unwatch = unwatch;
    this.#handshakes = handshakes;
    this.#otherVersions = otherVersions;
    this.#codec = new Codec(mailbox.directory);
    this.#logger = logger;
    mailbox.register(PARTY, (from, body) => this.#receive(from, body));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @returns the request number whose replies it receives until `forget` */
  listen(listener: Listener): number {
    const number = this.#nextNumber++;
    this.#listeners.set(number, listener);
    return number;
  }

  forget(number: number): void {
    this.#listeners.delete(number);
  }

  /**
   * @param to full name of a party; the incarnation `*` is the current one
   * @throws InputError if the message is not serializable
   */
  send(to: string, message: Message): SendResult {
    const result = this.#mailbox.send(PARTY, this.#mailbox.directory.intern(to), this.#encode(message));
    if (result === 'tooLarge' || result === 'unencodable') {
      throw new InputError('job-too-large', `${message.type}: too large for one message`, LARGEST_JOB);
    }
    return result;
  }

  /** Returns why a party's process rejects our connection; undefined if keys are not the reason. */
  authFailureOf(party: string): AuthFailure | undefined {
    return this.#handshakes.get(endpointOf(party))?.failure;
  }

  /** Returns whether a party's process has ever accepted our connection, so that it may have received messages. */
  wasAcceptedBy(party: string): boolean {
    return this.#handshakes.get(endpointOf(party))?.wasAccepted === true;
  }

  /** Returns the protocol version in which a party's process has replied since then, if it is another one. */
  otherVersionOf(party: string, since: Millis): number | undefined {
    const other = this.#otherVersions.get(endpointOf(party));
    return other !== undefined && other.at >= since ? other.version : undefined;
  }

  /** Returns whether the party's process has accepted our connection, even if it does not answer. */
  isConnectedTo(party: string): boolean {
    return this.#mailbox.isConnectedTo(this.#mailbox.directory.intern(party));
  }

  /** Fails all pending requests. */
  cut(why: GoshawkError): void {
    for (const listener of [...this.#listeners.values()]) listener.cut(why);
  }

  /** Fails all pending and later requests. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      // Watches deregister now, while the mailbox still sends.
      this.cut(connectionClosed());
      this.#isClosed = true;
      this.#unwatch?.();
      this.#listeners.clear();
    }
    await this.#mailbox.close();
  }

  #encode(message: Message): readonly unknown[] {
    try {
      return this.#codec.encode(message, 'client');
    } catch (error) {
      if (!(error instanceof EncodeError)) throw error;
      const isJob = message.type === 'submit' && error.path.startsWith('submit.spec');
      const where = error.path.replace(isJob ? /^submit\.spec\.?/ : /^\w+\.?/, isJob ? 'job: ' : '');
      throw new InputError(
        isJob ? 'bad-job' : 'bad-request',
        `${where.replace(/: $/, '')}: ${error.problem}`,
        isJob ? `a job can contain only JSON values and byte arrays; ${LARGEST_JOB}` : '',
        { cause: error },
      );
    }
  }

  #receive(from: Address, body: unknown): void {
    const at = performance.now();
    let message: Message;
    try {
      message = this.#codec.decode(body, this.#mailbox.directory.roleOf(from), 'client');
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#logInvalid(from, error);
      this.#listeners.get(requestOf(body))?.garbled(error.message);
      return;
    }
    if (!isReply(message)) return;
    const listener = this.#listeners.get(message.request);
    // A request that was sent twice has two replies.
    listener?.reply(message, this.#mailbox.directory.nameOf(from) ?? '', at);
  }

  /** Logs the 1st, 2nd, 4th, 8th … invalid message, so that they do not fill a disk. */
  #logInvalid(from: Address, error: DecodeError): void {
    const count = ++this.badMessages;
    if ((count & (count - 1)) !== 0) return;
    this.#logger.warn(
      { peer: this.#mailbox.directory.nameOf(from), problem: error.message, count },
      'dropped an invalid message',
    );
  }
}

function endpointOf(party: string): string {
  const { process } = parsePartyName(party);
  return process.slice(0, process.lastIndexOf('!'));
}

/** Request number of an invalid reply; every reply begins with it. 0: unknown. */
function requestOf(body: unknown): number {
  const [code, request] = Array.isArray(body) ? (body as unknown[]) : [];
  const type = typeof code === 'number' ? MESSAGE_TYPES[code] : undefined;
  return type !== undefined && isReplyType(type) && typeof request === 'number' ? request : 0;
}
