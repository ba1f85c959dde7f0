import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Dealer, Router } from 'zeromq';
import type { MailboxLimits } from './limits.js';
import type { ThrottledLog } from './log.js';

/** Whether a socket has delivered everything that has arrived. */
export interface Reading {
  isIdle: boolean;
}

/** @returns the number of handled messages; 0 for a rejected frame */
export type Receiver = (parts: readonly Buffer[]) => number;

const PAUSE_AFTER_ERROR_MS = 100;
/** Cost of a rejected frame in messages; a peer that sends only those must get bounded turns, too. */
const REFUSED_WEIGHT = 10;

/**
 * Reads a socket until it is closed; no error ends it before.
 *
 * ZeroMQ delivers arrived messages without a pause, so after a bounded number the event loop continues: timers, other sockets,
 * and sending of replies.
 */
export async function receive(
  socket: Router | Dealer,
  receiver: Receiver,
  limits: MailboxLimits,
  log: ThrottledLog,
  reading: Reading = { isIdle: false },
): Promise<void> {
  let handled = 0;
  while (!socket.closed) {
    try {
      reading.isIdle = true;
      const parts = await socket.receive();
      reading.isIdle = false;
      handled += receiver(parts) || REFUSED_WEIGHT;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // The message that made the socket readable may have disappeared with its connection.
      if (socket.closed || code === 'EAGAIN') continue;
      log.warn('', 'receive', `cannot receive: ${message}`);
      await delay(PAUSE_AFTER_ERROR_MS, undefined, { ref: false });
    }
    if (handled >= limits.turnMessagesMax) {
      handled = 0;
      await nextTurn();
    }
  }
}
