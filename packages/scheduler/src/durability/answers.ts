import type { Address, AnswerType, Message, MessageOf } from '@goshawk/core';
import type { Ledger, Refusal } from './ledger.js';

/** Answers to clients. Every request may be repeated; the answer is the same. */
export class Answers {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Answers without waiting for durability, because the answer only describes the current state. */
  answerNow<A extends AnswerType>(to: Address, request: number, type: A, value: MessageOf<A>['value']): void {
    this.#ledger.sendNow(to, { type, request, value } as Message);
  }

  /** Answers once everything recorded so far is durable. */
  answerWhenDurable<A extends AnswerType>(
    to: Address,
    request: number,
    type: A,
    value: MessageOf<A>['value'],
  ): void {
    const { stoppedRefusal } = this.#ledger;
    if (stoppedRefusal === undefined) this.#ledger.sendWhenDurable(to, { type, request, value } as Message);
    else this.refuse(to, request, stoppedRefusal);
  }

  refuse(to: Address, request: number, refusal: Refusal): void {
    this.#ledger.sendNow(to, refusalMessage(request, refusal));
  }
}

/** The refusal as a message. */
export function refusalMessage(
  request: number,
  { code, message, hint, retryMs }: Refusal,
): MessageOf<'refused'> {
  return { type: 'refused', request, code, message: truncated(message), hint: truncated(hint), retryMs };
}

/** Truncates a text that may quote the submitter to the maximum length of a line on the wire. */
function truncated(line: string): string {
  return line.length <= 2_000 ? line : `${line.slice(0, 2_000)}…`;
}
