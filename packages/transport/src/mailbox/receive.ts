import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Dealer, Router } from 'zeromq';
import type { MailboxLimits } from './limits.js';
import type { ThrottledLog } from './log.js';

/** Whether a socket has handed out all that has come in. */
export interface Reading {
  isIdle: boolean;
}

/** @returns how many messages were handled; 0 for a frame that was refused. */
export type Receiver = (parts: readonly Buffer[]) => number;

const PAUSE_AFTER_ERROR_MS = 100;
/** A frame that is refused costs about as much as so many messages; who sends nothing else must get turns, too. */
const REFUSED_WEIGHT = 10;

/**
 * Reads a socket until it is closed; no error ends it before.
 *
 * ZeroMQ hands out what has arrived without a pause, so after a bounded number of messages the rest of
 * the event loop gets its turn: timers, other sockets, and the sending of the answers.
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
