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
   * @param from full name of the party that sent it
   * @param at when it arrived, by `performance.now()`
   */
  reply(reply: Reply, from: string, at: Millis): void;
  /**
   * Called for an invalid reply, for example of a cluster with another version.
   * @param problem of the reply
   */
  garbled(problem: string): void;
  /** Nothing will come any more. @param why to throw */
  cut(why: GoshawkError): void;
}

/** A client is one party. */
const PARTY = 0;

const LARGEST_JOB = `a job takes at most ${DEFAULT_LIMITS.frameBytesMax >> 20} MiB; split it, put large input into files, or write tasks that are alike as {count, run}`;

/** Long enough for what is still to be sent, short enough that nobody waits for a peer that is gone. ms */
const CLOSE_FLUSH_MS = 250;

/**
 * A client's way to the cluster: one mailbox that binds nothing, and the numbers by which replies find those
 * who wait for them.
 */
export class Connection {
  /** Frames that were no message. */
  badMessages = 0;
  readonly #mailbox: Mailbox;
  readonly #codec: Codec;
  readonly #logger: Logger;
  readonly #listeners = new Map<number, Listener>();
  /** Endpoints that do not take our connection because of keys. */
  readonly #unwatch: (() => void) | undefined;
  readonly #authFailures: ReadonlyMap<string, AuthFailure>;
  #nextNumber = 1;
  #isClosed = false;

  static async open(logger: Logger, keys?: KeyRing): Promise<Connection> {
    const directory = new Directory();
    const authFailures = new Map<string, AuthFailure>();
    const mailbox = await Mailbox.open({
      incarnation: randomName(),
      directory,
      logger,
      limits: { closeFlushMs: CLOSE_FLUSH_MS },
      onAuthFailure: (endpoint, why) => {
        if (why === undefined) authFailures.delete(endpoint);
        else authFailures.set(endpoint, why);
      },
      ...(keys && { keys }),
    });
    const unwatch =
      keys &&
      watchKeys(
        keys,
        (ring) => mailbox.rekey(ring),
        (problem) => logger.warn({ problem }, 'the previous keys remain in use'),
      );
    return new Connection(mailbox, logger, authFailures, unwatch);
  }

  private constructor(
    mailbox: Mailbox,
    logger: Logger,
    authFailures: ReadonlyMap<string, AuthFailure>,
    unwatch: (() => void) | undefined,
  ) {
    this.#mailbox = mailbox;
    this.#unwatch = unwatch;
    this.#authFailures = authFailures;
    this.#codec = new Codec(mailbox.directory);
    this.#logger = logger;
    mailbox.register(PARTY, (from, body) => this.#receive(from, body));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @returns the number under which it hears replies until `forget` */
  listen(listener: Listener): number {
    const number = this.#nextNumber++;
    this.#listeners.set(number, listener);
    return number;
  }

  forget(number: number): void {
    this.#listeners.delete(number);
  }

  /**
   * @param to full name of a party; the incarnation `*` is the present one
   * @throws InputError when the message holds what cannot be sent
   */
  send(to: string, message: Message): SendResult {
    const result = this.#mailbox.send(PARTY, this.#mailbox.directory.intern(to), this.#encode(message));
    if (result === 'tooLarge' || result === 'unencodable') {
      throw new InputError('job-too-large', `${message.type}: too large for one message`, LARGEST_JOB);
    }
    return result;
  }

  /** Why a party's process does not take our connection; undefined when keys are not the reason. */
  authFailureOf(party: string): AuthFailure | undefined {
    const { process } = parsePartyName(party);
    return this.#authFailures.get(process.slice(0, process.lastIndexOf('!')));
  }

  /** The party's process has taken our connection, whether it answers or not. */
  isConnectedTo(party: string): boolean {
    return this.#mailbox.isConnectedTo(this.#mailbox.directory.intern(party));
  }

  /** Ends all that is waited for. */
  cut(why: GoshawkError): void {
    for (const listener of [...this.#listeners.values()]) listener.cut(why);
  }

  /** Ends all that is waited for, and what comes later. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      // Those who watch say goodbye now, as long as the mailbox takes it.
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
      this.#complain(from, error);
      this.#listeners.get(requestOf(body))?.garbled(error.message);
      return;
    }
    if (!isReply(message)) return;
    const listener = this.#listeners.get(message.request);
    // Answers to what was sent twice come twice.
    listener?.reply(message, this.#mailbox.directory.nameOf(from) ?? '', at);
  }

  /** At the 1st, 2nd, 4th, 8th …: nonsense must not fill a disk. */
  #complain(from: Address, error: DecodeError): void {
    const count = ++this.badMessages;
    if ((count & (count - 1)) !== 0) return;
    this.#logger.warn(
      { peer: this.#mailbox.directory.nameOf(from), problem: error.message, count },
      'dropped what is no message',
    );
  }
}

/** Request number of an invalid reply, with which each reply begins. 0: unknown. */
function requestOf(body: unknown): number {
  const [code, request] = Array.isArray(body) ? (body as unknown[]) : [];
  const type = typeof code === 'number' ? MESSAGE_TYPES[code] : undefined;
  return type !== undefined && isReplyType(type) && typeof request === 'number' ? request : 0;
}
