import type { Address, AnswerType, AnswerValue, Message, MessageOf } from '@goshawk/core';
import type { Ledger, Refusal } from './ledger.js';

/** Sends answers to clients. A client may repeat any request, and gets an equivalent answer. */
export class Answers {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Answers immediately. For answers that only describe the current state. */
  answerNow<A extends AnswerType>(to: Address, request: number, type: A, value: AnswerValue<A>): void {
    this.#ledger.sendNow(to, { type, request, value } as Message);
  }

  /** Answers once all records so far are durable. Refuses if the journal accepts no records. */
  answerWhenDurable<A extends AnswerType>(
    to: Address,
    request: number,
    type: A,
    value: AnswerValue<A>,
  ): void {
    const { stoppedRefusal } = this.#ledger;
    if (stoppedRefusal === undefined) this.#ledger.sendWhenDurable(to, { type, request, value } as Message);
    else this.refuse(to, request, stoppedRefusal);
  }

  /** Refuses a request. A client gives up after some refusals, so a restart must not revoke their reasons. */
  refuse(to: Address, request: number, refusal: Refusal): void {
    const ledger = this.#ledger;
    if (refusal.isRevocable !== true || ledger.isDurable)
      return ledger.sendNow(to, refusalMessage(request, refusal));
    const { stoppedRefusal } = ledger;
    if (stoppedRefusal === undefined)
      ledger.sendWhenDurable(to, refusalMessage(request, refusal), refusal.keyHolder);
    else ledger.sendNow(to, refusalMessage(request, stoppedRefusal));
  }
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
