import type { MessageType } from '@goshawk/core';

interface Count {
  readonly type: MessageType | undefined;
  messages: number;
}

/** Counts messages by type. Most messages have one of the last two types: a question and its answer. */
export class MessageCounts {
  readonly #counts = new Map<MessageType, Count>();
  #last: Count = { type: undefined, messages: 0 };
  #lastButOne = this.#last;

  add(type: MessageType): void {
    if (type === this.#last.type) this.#last.messages++;
    else if (type === this.#lastButOne.type) this.#lastButOne.messages++;
    else this.#addOther(type);
  }

  read(): Partial<Record<MessageType, number>> {
    return Object.fromEntries([...this.#counts].map(([type, { messages }]) => [type, messages]));
  }

  #addOther(type: MessageType): void {
    let count = this.#counts.get(type);
    if (count === undefined) {
      count = { type, messages: 0 };
      this.#counts.set(type, count);
    }
    count.messages++;
    this.#lastButOne = this.#last;
    this.#last = count;
  }
}
