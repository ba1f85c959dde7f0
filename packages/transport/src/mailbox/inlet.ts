import type { Router } from 'zeromq';
import type { MailboxCounters } from './counters.js';
import type { MailboxLimits } from './limits.js';
import type { ThrottledLog } from './log.js';
import { watchConnections } from './monitor.js';
import { type Reading, type Receiver, receive } from './receive.js';
import type { RejectedConnections } from './rejected-connections.js';

/** Reads from an inlet. */
export interface Attendance {
  readonly receiver: Receiver;
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly rejected: RejectedConnections;
  readonly log: ThrottledLog;
  readonly reading: Reading;
}

/** The socket that a process is reached through. */
export interface Inlet {
  readonly closed: boolean;
  /** Rejects at once, with the code of ZeroMQ, when the peer is gone or does not read. */
  send(routingId: string, frame: Buffer): Promise<void>;
  /** @param lingerMs what is queued may leave for so long */
  close(lingerMs?: number): void;
  /** Reads it until it is closed. @returns when its endpoint is free again, after it was closed */
  attend(attendance: Attendance): Promise<void>;
}

/** One socket of ZeroMQ for all who connect. */
export class SocketInlet implements Inlet {
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

  attend({ receiver, limits, counters, rejected, log, reading }: Attendance): Promise<void> {
    void receive(this.#router, receiver, limits, log, reading);
    return watchConnections(this.#router, limits, counters, rejected);
  }
}
