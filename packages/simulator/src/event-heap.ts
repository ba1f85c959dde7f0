import { grown } from '@goshawk/core';

/**
 * The event queue of a simulation, ordered by (time, sequence): events at the same time run in order of
 * insertion. Events are rows of columns and the heap moves row numbers, so that no objects are allocated for
 * events.
 */
export class EventHeap {
  /** Columns by row. */
  kinds = new Uint8Array(INITIAL);
  targets = new Int32Array(INITIAL);
  /** The meaning depends on the kind. */
  firsts = new Float64Array(INITIAL);
  seconds = new Float64Array(INITIAL);
  refs: unknown[] = new Array(INITIAL);
  #sequences = new Float64Array(INITIAL);
  /** A 4-ary heap of rows: shallower than a binary one, with adjacent children. */
  #heap = new Int32Array(INITIAL);
  /** Times by heap position: the four children share a cache line. */
  #times = new Float64Array(INITIAL);
  size = 0;
  /** Time of the next event, or Infinity. A field, because the loop reads it at each event. */
  nextTime = Number.POSITIVE_INFINITY;
  #free: number[] = [];
  #rows = 0;

  /** @param sequence unique; breaks ties between events at the same time */
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
    this.#sequences[row] = sequence;
    this.kinds[row] = kind;
    this.targets[row] = target;
    this.firsts[row] = first;
    this.seconds[row] = second;
    this.refs[row] = ref;
    this.#up(this.size++, time, row);
    this.nextTime = this.#times[0]!;
  }

  /** Returns the sequence number of the next event. The heap must not be empty. */
  nextSequence(): number {
    return this.#sequences[this.#heap[0]!]!;
  }

  sequenceOf(row: number): number {
    return this.#sequences[row]!;
  }

  /** Removes the next event. Its row may be read until `release(row)`. */
  pop(): number {
    const row = this.#heap[0]!;
    const last = --this.size;
    if (last > 0) this.#down(this.#times[last]!, this.#heap[last]!);
    this.nextTime = last > 0 ? this.#times[0]! : Number.POSITIVE_INFINITY;
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
    this.#times = grown(this.#times, size);
    this.#sequences = grown(this.#sequences, size);
    this.kinds = grown(this.kinds, size);
    this.targets = grown(this.targets, size);
    this.firsts = grown(this.firsts, size);
    this.seconds = grown(this.seconds, size);
    this.#heap = grown(this.#heap, size);
    this.refs.length = size;
  }

  /** Whether the event at this position precedes another. */
  #isBefore(place: number, time: number, row: number): boolean {
    const here = this.#times[place]!;
    return here < time || (here === time && this.#sequences[this.#heap[place]!]! < this.#sequences[row]!);
  }

  #up(from: number, time: number, row: number): void {
    const heap = this.#heap;
    const times = this.#times;
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 2;
      if (this.#isBefore(parent, time, row)) break;
      heap[place] = heap[parent]!;
      times[place] = times[parent]!;
      place = parent;
    }
    heap[place] = row;
    times[place] = time;
  }

  #down(time: number, row: number): void {
    const heap = this.#heap;
    const times = this.#times;
    const { size } = this;
    let place = 0;
    for (;;) {
      const first = 4 * place + 1;
      if (first >= size) break;
      let least = first;
      const end = Math.min(first + 4, size);
      for (let child = first + 1; child < end; child++) {
        if (this.#isBefore(child, times[least]!, heap[least]!)) least = child;
      }
      if (!this.#isBefore(least, time, row)) break;
      heap[place] = heap[least]!;
      times[place] = times[least]!;
      place = least;
    }
    heap[place] = row;
    times[place] = time;
  }
}

const INITIAL = 1024;
