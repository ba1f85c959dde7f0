import type { Router } from 'zeromq';
import type { MailboxCounters } from '../counters.js';
import type { MailboxLimits } from '../limits.js';
import type { ThrottledLog } from '../log.js';
import { watchConnections } from './monitor.js';
import { type Reading, type Receiver, receive } from './receive.js';
import type { RejectedConnections } from './rejected-connections.js';

/** Callbacks of a reader. */
export interface SocketReader {
  readonly receiver: Receiver;
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly rejected: RejectedConnections;
  readonly log: ThrottledLog;
  readonly reading: Reading;
}

/** The socket through which a process receives. */
export interface InboundSocket {
  readonly closed: boolean;
  /** Sends a frame. Rejects immediately, with ZeroMQ's error code, if the peer is gone or does not read. */
  send(routingId: string, frame: Buffer): Promise<void>;
  /** @param lingerMs how long ZeroMQ may send queued frames */
  close(lingerMs?: number): void;
  /**
   * Reads until the socket is closed. Resolves when the endpoint is free again.
   *
   * @throws ZeroMQ's error, synchronously, if it cannot be monitored because no more sockets are available
   */
  serve(reader: SocketReader): Promise<void>;
}

/** One ZeroMQ socket for all peers. */
export class RouterSocket implements InboundSocket {
  readonly #router: Router;

  constructor(router: Router) {
    this.#router = router;
  }

  get closed(): boolean {
    return this.#router.closed;
  }

  send(routingId: string, frame: Buffer): Promise<void> {
    return this.#router.send([routingId, frame]);
  }

  close(lingerMs = 0): void {
    if (this.#router.closed) return;
    this.#router.linger = lingerMs;
    this.#router.close();
  }

  serve({ receiver, limits, counters, rejected, log, reading }: SocketReader): Promise<void> {
    const freed = watchConnections(this.#router, limits, counters, rejected, reading);
    void receive(this.#router, receiver, limits, log, reading);
    return freed;
  }
}
