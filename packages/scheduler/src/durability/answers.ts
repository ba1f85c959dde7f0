import type { Address, AnswerType, AnswerValue, Message, MessageOf, Reply } from '@goshawk/core';
import type { Ledger, Refusal } from './ledger.js';

interface WithLedger {
  readonly ledger: Ledger;
}

// Sends answers to clients. A client may repeat any request, and gets an equivalent answer.

/** Answers immediately. For answers that only describe the current state. */
export function answerNow<A extends AnswerType>(
  s: WithLedger,
  to: Address,
  request: number,
  type: A,
  value: AnswerValue<A>,
): void {
  s.ledger.sendNow(to, { type, request, value } as Message);
}

/**
 * Answers a request that has changed something, once all records so far are durable. While no record can be written,
 * reports that the change is pending: it must not be called refused, because it takes effect once it is written.
 */
export function answerWhenDurable<A extends AnswerType>(
  s: WithLedger,
  to: Address,
  request: number,
  type: A,
  value: AnswerValue<A>,
): void {
  sendWhenDurable(s, to, { type, request, value } as Reply, s.ledger.pendingRefusal);
}

/** Answers a question once all records so far are durable. Refuses it while no record can be written. */
export function readWhenDurable<A extends AnswerType>(
  s: WithLedger,
  to: Address,
  request: number,
  type: A,
  value: AnswerValue<A>,
): void {
  sendWhenDurable(s, to, { type, request, value } as Reply, s.ledger.stoppedRefusal);
}

function sendWhenDurable(s: WithLedger, to: Address, answer: Reply, stopped: Refusal | undefined): void {
  const ledger = s.ledger;
  if (stopped === undefined || ledger.isDurable) ledger.sendWhenDurable(to, answer);
  else ledger.sendNow(to, refusalMessage(answer.request, stopped));
}

/**
 * Refuses a request, which must have changed nothing. A client gives up after some refusals, so a restart must not
 * revoke their reasons.
 */
export function refuse(s: WithLedger, to: Address, request: number, refusal: Refusal): void {
  const ledger = s.ledger;
  if (refusal.isRevocable !== true || ledger.isDurable)
    return ledger.sendNow(to, refusalMessage(request, refusal));
  const { stoppedRefusal } = ledger;
  if (stoppedRefusal === undefined)
    ledger.sendWhenDurable(to, refusalMessage(request, refusal), refusal.keyHolder);
  else ledger.sendNow(to, refusalMessage(request, stoppedRefusal));
}

/** Converts a refusal to a message. */
export function refusalMessage(
  request: number,
  { code, message, hint, retryMs }: Refusal,
): MessageOf<'refused'> {
  return { type: 'refused', request, code, message: truncated(message), hint: truncated(hint), retryMs };
}

/** Truncates a text, which may quote the client, to the maximum length on the wire. */
function truncated(line: string): string {
  return line.length <= 2_000 ? line : `${line.slice(0, 2_000)}…`;
}
