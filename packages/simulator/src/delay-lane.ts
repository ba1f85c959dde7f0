/**
 * Messages with a constant delay: nine of ten events. They arrive in the order in which they were sent, so a ring
 * buffer suffices, which costs a fraction of a heap.
 */
export class DelayLane {
  #times = new Float64Array(INITIAL);
  #sequences = new Float64Array(INITIAL);
  #targets = new Int32Array(INITIAL);
  #senders = new Int32Array(INITIAL);
  #messages: unknown[] = new Array(INITIAL);
  #head = 0;
  // Fields instead of getters, because the loop reads them at each event, and a call that is not inlined allocates.
  size = 0;
  /** Arrival of the next message, or Infinity. */
  nextTime = Number.POSITIVE_INFINITY;

  get sequence(): number {
    return this.#sequences[this.#head]!;
  }

  get target(): number {
    return this.#targets[this.#head]!;
  }

  get sender(): number {
    return this.#senders[this.#head]!;
  }

  /** @param time no earlier than that of the previous message */
  push(time: number, sequence: number, target: number, sender: number, message: unknown): void {
    if (this.size === this.#times.length) this.#grow();
    if (this.size === 0) this.nextTime = time;
    const at = (this.#head + this.size++) & (this.#times.length - 1);
    this.#times[at] = time;
    this.#sequences[at] = sequence;
    this.#targets[at] = target;
    this.#senders[at] = sender;
    this.#messages[at] = message;
  }

  /** Removes and returns the next message; its sender, target and sequence must be read first. */
  shift(): unknown {
    const message = this.#messages[this.#head];
    this.#messages[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#times.length - 1);
    this.nextTime = --this.size === 0 ? Number.POSITIVE_INFINITY : this.#times[this.#head]!;
    return message;
  }

  #grow(): void {
    const size = this.#times.length;
    const unroll = <T extends Float64Array | Int32Array>(from: T, to: T): T => {
      to.set(from.subarray(this.#head));
      to.set(from.subarray(0, this.#head), size - this.#head);
      return to;
    };
    this.#times = unroll(this.#times, new Float64Array(2 * size));
    this.#sequences = unroll(this.#sequences, new Float64Array(2 * size));
    this.#targets = unroll(this.#targets, new Int32Array(2 * size));
    this.#senders = unroll(this.#senders, new Int32Array(2 * size));
    this.#messages = [...this.#messages.slice(this.#head), ...this.#messages.slice(0, this.#head)];
    this.#messages.length = 2 * size;
    this.#head = 0;
  }
}

/** This size and all later ones are powers of two. */
const INITIAL = 4_096;
