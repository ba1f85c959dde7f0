/**
 * The agenda of a simulation: events ordered by (time, sequence), so that what was put in first comes out
 * first among events of one time. Events are rows of columns and the heap moves row numbers, so that nothing
 * is allocated for an event but what it refers to.
 */
export class EventHeap {
  /** Columns, by row. */
  kinds = new Uint8Array(INITIAL);
  targets = new Int32Array(INITIAL);
  /** What they mean depends on the kind. */
  firsts = new Float64Array(INITIAL);
  seconds = new Float64Array(INITIAL);
  refs: unknown[] = new Array(INITIAL);
  #times = new Float64Array(INITIAL);
  #sequences = new Float64Array(INITIAL);
  /** A 4-ary heap of rows: shallower than a binary one, and its children lie side by side. */
  #heap = new Int32Array(INITIAL);
  #size = 0;
  #free: number[] = [];
  #rows = 0;

  get size(): number {
    return this.#size;
  }

  /** @param sequence names the event for good; of two events of one time the lower one comes first */
  push(
    time: number,
    sequence: number,
    kind: number,
    target: number,
    first: number,
    second: number,
    ref: unknown,
  ): void {
    const row = this.#free.pop() ?? this.#newRow();
    this.#times[row] = time;
    this.#sequences[row] = sequence;
    this.kinds[row] = kind;
    this.targets[row] = target;
    this.firsts[row] = first;
    this.seconds[row] = second;
    this.refs[row] = ref;
    this.#up(this.#size++, row);
  }

  /** The time of the next event, or Infinity. */
  nextTime(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#times[this.#heap[0]!]!;
  }

  /** The sequence number of the next event. There must be one. */
  nextSequence(): number {
    return this.#sequences[this.#heap[0]!]!;
  }

  sequenceOf(row: number): number {
    return this.#sequences[row]!;
  }

  /** Takes the next event out. Its row may be read until `release(row)`. */
  pop(): number {
    const row = this.#heap[0]!;
    const last = this.#heap[--this.#size]!;
    if (this.#size > 0) this.#down(last);
    return row;
  }

  release(row: number): void {
    this.refs[row] = undefined;
    this.#free.push(row);
  }

  #newRow(): number {
    if (this.#rows === this.#times.length) this.#grow();
    return this.#rows++;
  }

  #grow(): void {
    const size = this.#times.length * 2;
    const copy = <T extends Float64Array | Int32Array | Uint8Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#times = copy(this.#times, new Float64Array(size));
    this.#sequences = copy(this.#sequences, new Float64Array(size));
    this.kinds = copy(this.kinds, new Uint8Array(size));
    this.targets = copy(this.targets, new Int32Array(size));
    this.firsts = copy(this.firsts, new Float64Array(size));
    this.seconds = copy(this.seconds, new Float64Array(size));
    this.#heap = copy(this.#heap, new Int32Array(size));
    this.refs.length = size;
  }

  #before(a: number, b: number): boolean {
    const x = this.#times[a]!;
    const y = this.#times[b]!;
    return x < y || (x === y && this.#sequences[a]! < this.#sequences[b]!);
  }

  #up(from: number, row: number): void {
    const heap = this.#heap;
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 2;
      const above = heap[parent]!;
      if (!this.#before(row, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = row;
  }

  #down(row: number): void {
    const heap = this.#heap;
    const size = this.#size;
    let place = 0;
    for (;;) {
      const first = 4 * place + 1;
      if (first >= size) break;
      let least = first;
      const end = Math.min(first + 4, size);
      for (let child = first + 1; child < end; child++) {
        if (this.#before(heap[child]!, heap[least]!)) least = child;
      }
      if (!this.#before(heap[least]!, row)) break;
      heap[place] = heap[least]!;
      place = least;
    }
    heap[place] = row;
  }
}

const INITIAL = 1024;
