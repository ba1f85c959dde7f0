import type { UnreadReplies } from '../defense/unread-replies.js';
import type { PackedFrame } from '../frames/frame.js';
import type { ThrottledLog } from '../log.js';
import type { Connection, Transmission } from './connection.js';
import type { Listener } from './listen.js';

/**
 * Sends frames to a client over the client's own connection to this process.
 *
 * All clients share the ROUTER, which is set to fail immediately rather than block (`socket-options.ts`), so sends never overlap, and
 * a client that does not read delays no other.
 */
export class ReplyConnection implements Connection {
  readonly #listener: Listener;
  readonly #client: string;
  readonly #routingId: () => string;
  readonly #log: ThrottledLog;
  readonly #unread: UnreadReplies;

  /** @param client `routingId` returns the id of its current connection, which changes with its keys */
  constructor(
    listener: Listener,
    client: { name: string; routingId: () => string },
    log: ThrottledLog,
    unread: UnreadReplies,
  ) {
    this.#listener = listener;
    this.#unread = unread;
    this.#client = client.name;
    this.#routingId = client.routingId;
    this.#log = log;
  }

  async transmit(frame: PackedFrame): Promise<Transmission> {
    const { inboundSocket } = this.#listener;
    if (this.#unread.isFull(frame.bytes.length)) return 'full';
    try {
      await inboundSocket.send(this.#routingId(), frame.bytes);
      this.#unread.sent(frame.bytes.length);
      return 'sent';
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return 'full';
      if (code !== 'EHOSTUNREACH' && !inboundSocket.closed) {
        this.#log.warn(this.#client, 'send', `cannot reply to ${this.#client}: ${message}`);
      }
      return 'gone';
    }
  }

  close(): void {
    // The client closes its connection. All clients share the socket, which stays open.
  }
}
