import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Dealer, Router } from 'zeromq';
import type { MailboxLimits } from '../limits.js';
import type { ThrottledLog } from '../log.js';
import { whileRead } from './thread-end.js';

/** State of a socket. */
export interface Reading {
  /** Whether it has delivered everything that has arrived. */
  isIdle: boolean;
  /** Number of connections whose handshake has succeeded. */
  established?: number;
}

/** @returns the number of handled messages; 0 for a rejected frame */
export type Receiver = (parts: readonly Buffer[]) => number;

const PAUSE_AFTER_ERROR_MS = 100;
/** Number of messages that a rejected frame counts as, so that a flood of them does not monopolize the event loop. */
const REFUSED_WEIGHT = 10;

/**
 * Reads a socket until it is closed. Errors do not end it.
 *
 * ZeroMQ delivers arrived messages without a pause, so reading yields to the event loop after a bounded number of them:
 * for timers, other sockets and replies.
 */
export function receive(
  socket: Router | Dealer,
  receiver: Receiver,
  limits: MailboxLimits,
  log: ThrottledLog,
  reading: Reading = { isIdle: false },
): Promise<void> {
  return whileRead(socket, receiveAll(socket, receiver, limits, log, reading));
}

async function receiveAll(
  socket: Router | Dealer,
  receiver: Receiver,
  limits: MailboxLimits,
  log: ThrottledLog,
  reading: Reading,
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
      // A message that made the socket readable disappears if its connection ends first.
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
