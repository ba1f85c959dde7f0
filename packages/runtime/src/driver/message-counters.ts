import { MESSAGE_TYPES, type MessageType } from '@goshawk/core';

/** Messages by type; types without messages are omitted. */
type MessageCounts = { readonly [T in MessageType]?: number };

/** Counters of one machine since it was added. */
export interface MachineCounters {
  /** Passed to the mailbox, which counts undeliverable messages separately. */
  readonly sent: MessageCounts;
  /** Delivered to the machine. */
  readonly received: MessageCounts;
  /** Arrived for it, but invalid or not permitted for their sender. */
  readonly refused: number;
  /** Not sent, because they violate their declaration. */
  readonly unsendable: number;
  /** The machine threw on them and continued. */
  readonly failed: number;
  /** Timers that fired. */
  readonly wakes: number;
}

type Counts = Record<MessageType, number>;

export class MessageCounters {
  refused = 0;
  unsendable = 0;
  failed = 0;
  wakes = 0;
  readonly #sent = zeroes();
  readonly #received = zeroes();

  sent(type: MessageType): void {
    this.#sent[type]++;
  }

  received(type: MessageType): void {
    this.#received[type]++;
  }

  /** Adds the counters of another machine. */
  add({ sent, received, refused, unsendable, failed, wakes }: MachineCounters): void {
    for (const type of MESSAGE_TYPES) {
      this.#sent[type] += sent[type] ?? 0;
      this.#received[type] += received[type] ?? 0;
    }
    this.refused += refused;
    this.unsendable += unsendable;
    this.failed += failed;
    this.wakes += wakes;
  }

  read(): MachineCounters {
    return {
      sent: withoutZeroes(this.#sent),
      received: withoutZeroes(this.#received),
      refused: this.refused,
      unsendable: this.unsendable,
      failed: this.failed,
      wakes: this.wakes,
    };
  }
}

function zeroes(): Counts {
  return Object.fromEntries(MESSAGE_TYPES.map((type) => [type, 0])) as Counts;
}

function withoutZeroes(counts: Counts): MessageCounts {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
