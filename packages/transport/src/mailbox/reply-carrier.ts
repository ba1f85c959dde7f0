import type { Carrier, Transmission } from './carrier.js';
import type { PackedFrame } from './frame.js';
import type { Listener } from './listen.js';
import type { ThrottledLog } from './log.js';

/**
 * Carries frames to a client, back through the connection that the client made to this process.
 *
 * The ROUTER is shared by all clients and set to fail at once rather than to wait (`socket-options.ts`),
 * so a send never is in flight when the next one is made, and a client that does not read holds up nobody.
 */
export class ReplyCarrier implements Carrier {
  readonly #listener: Listener;
  readonly #client: string;
  readonly #routingId: () => string;
  readonly #log: ThrottledLog;

  /** @param client its connection of the present: one that it makes with new keys has another routing id */
  constructor(listener: Listener, client: { name: string; routingId: () => string }, log: ThrottledLog) {
    this.#listener = listener;
    this.#client = client.name;
    this.#routingId = client.routingId;
    this.#log = log;
  }

  async transmit(frame: PackedFrame): Promise<Transmission> {
    const { inlet } = this.#listener;
    try {
      await inlet.send(this.#routingId(), frame.bytes);
      return 'sent';
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return 'full';
      if (code !== 'EHOSTUNREACH' && !inlet.closed) {
        this.#log.warn(this.#client, 'send', `cannot reply to ${this.#client}: ${message}`);
      }
      return 'gone';
    }
  }

  close(): void {
    // The connection is the client's, and the socket is shared.
  }
}
