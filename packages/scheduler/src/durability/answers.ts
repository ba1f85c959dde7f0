import type { Address, AnswerType, Message, MessageOf } from '@goshawk/core';
import type { Ledger, Refusal } from './ledger.js';

/** Answers to clients. Everything may be asked twice; the answer is the same. */
export class Answers {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Promises nothing: it is how things stand, and need not be durable. */
  answer<A extends AnswerType>(to: Address, request: number, type: A, value: MessageOf<A>['value']): void {
    this.#ledger.tell(to, { type, request, value } as Message);
  }

  /** Promises that it outlives this process. */
  acknowledge<A extends AnswerType>(
    to: Address,
    request: number,
    type: A,
    value: MessageOf<A>['value'],
  ): void {
    const { stopped } = this.#ledger;
    if (stopped === undefined) this.#ledger.send(to, { type, request, value } as Message);
    else this.refuse(to, request, stopped);
  }

  refuse(to: Address, request: number, refusal: Refusal): void {
    this.#ledger.tell(to, refused(request, refusal));
  }
}

/** The same as a message. */
export function refused(request: number, { code, message, hint, retryMs }: Refusal): MessageOf<'refused'> {
  return { type: 'refused', request, code, message: clip(message), hint: clip(hint), retryMs };
}

/** Lines have a longest length on the wire; what a submitter wrote may be quoted in one. */
function clip(line: string): string {
  return line.length <= 2_000 ? line : `${line.slice(0, 2_000)}…`;
}
