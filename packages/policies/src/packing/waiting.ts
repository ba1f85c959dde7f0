/** Sequences are below this: they share 52 bits with a size. */
export const SEQUENCE_MAX = 2 ** 27;

/** Groups of tasks that wait: alike, and arrived together. In columns, by a small number that is given out again. */
export class Waiting {
  /** Units; by group. */
  readonly size: number[] = [];
  /** Place in the order of arrival. */
  readonly sequence: number[] = [];
  /** Tasks that wait; 0: the number is free. */
  readonly count: number[] = [];
  /** Which virtual queues the group is in, where servers differ. */
  readonly family: number[] = [];
  /** Its place in the one `ArrivalOrder` that it is in; −1: none. */
  readonly orderKey: number[] = [];
  /** Whatever stands for the group elsewhere. */
  readonly tag: unknown[] = [];
  readonly #free: number[] = [];
  readonly #bySequence = new Map<number, number>();
  #next = 0;
  #tasks = 0;
  #units = 0;

  /** Tasks of all groups. */
  get tasks(): number {
    return this.#tasks;
  }

  /** Sum of the sizes of all tasks. */
  get units(): number {
    return this.#units;
  }

  /** @param sequence of a group that had left, and comes back; a new one otherwise */
  add(size: number, count: number, family: number, sequence = this.#next, tag?: unknown): number {
    const group = this.#free.pop() ?? this.size.length;
    this.size[group] = size;
    this.sequence[group] = sequence;
    this.count[group] = count;
    this.family[group] = family;
    this.orderKey[group] = -1;
    this.tag[group] = tag;
    this.#bySequence.set(sequence, group);
    this.#next = Math.max(this.#next, sequence + 1);
    this.#tasks += count;
    this.#units += count * size;
    return group;
  }

  /** One number for the group of this sequence; undefined: none waits. */
  groupOf(sequence: number): number | undefined {
    return this.#bySequence.get(sequence);
  }

  /** @param more negative: so many leave */
  grow(group: number, more: number): void {
    this.count[group]! += more;
    this.#tasks += more;
    this.#units += more * this.size[group]!;
    if (this.count[group]! > 0) return;
    this.#bySequence.delete(this.sequence[group]!);
    this.#free.push(group);
  }
}
