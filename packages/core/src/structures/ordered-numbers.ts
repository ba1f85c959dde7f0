const CHUNK = 256;

/**
 * A sorted set of numbers that finds the nearest member below or above a number. It consists of sorted
 * chunks: an insertion or deletion moves half a chunk, one copy of 1 KiB.
 */
export class OrderedNumbers {
  readonly #chunks: Float64Array[] = [];
  /** Length of each chunk; 0 if the set is empty. */
  readonly #lengths: number[] = [];
  /** The first number of each chunk, in one array: a search touches only one chunk. */
  readonly #firsts: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** NaN if empty. */
  first(): number {
    return this.#size === 0 ? Number.NaN : this.#firsts[0]!;
  }

  has(number: number): boolean {
    return this.atMost(number) === number;
  }

  /** @returns false if the number was already in the set */
  add(number: number): boolean {
    if (this.#size === 0) {
      if (this.#chunks.length === 0) this.#insertChunk(0, 0, number);
      this.#chunks[0]![0] = number;
      this.#firsts[0] = number;
      this.#lengths[0] = 1;
      this.#size = 1;
      return true;
    }
    const at = Math.max(0, this.#chunkOf(number));
    const chunk = this.#chunks[at]!;
    const length = this.#lengths[at]!;
    const index = upperIndex(chunk, length, number);
    if (index > 0 && chunk[index - 1] === number) return false;
    if (length === CHUNK) {
      this.#split(at);
      return this.add(number);
    }
    if (index < length) chunk.copyWithin(index + 1, index, length);
    chunk[index] = number;
    if (index === 0) this.#firsts[at] = number;
    this.#lengths[at] = length + 1;
    this.#size++;
    return true;
  }

  /** @returns whether the number was in the set */
  delete(number: number): boolean {
    const at = this.#chunkOf(number);
    if (at < 0) return false;
    const chunk = this.#chunks[at]!;
    const length = this.#lengths[at]!;
    const index = upperIndex(chunk, length, number) - 1;
    if (chunk[index] !== number) return false;
    if (index + 1 < length) chunk.copyWithin(index, index + 1, length);
    if (index === 0) this.#firsts[at] = chunk[0]!;
    this.#lengths[at] = length - 1;
    this.#size--;
    // Keeps the last chunk, because a set may become empty many times.
    if (length === 1 && this.#size > 0) {
      this.#removeChunk(at);
    } else if (length < CHUNK / 4) {
      this.#joinNext(at);
    }
    return true;
  }

  /** The largest number that is at most this; NaN: none. */
  atMost(bound: number): number {
    const at = this.#chunkOf(bound);
    if (at < 0) return Number.NaN;
    return this.#chunks[at]![upperIndex(this.#chunks[at]!, this.#lengths[at]!, bound) - 1]!;
  }

  /** The smallest number that is at least this; NaN: none. */
  atLeast(bound: number): number {
    const at = this.#chunkOf(bound);
    if (at >= 0) {
      const chunk = this.#chunks[at]!;
      const length = this.#lengths[at]!;
      const index = upperIndex(chunk, length, bound);
      if (chunk[index - 1] === bound) return bound;
      if (index < length) return chunk[index]!;
    }
    return this.#size === 0 ? Number.NaN : (this.#firsts[at + 1] ?? Number.NaN);
  }

  /** In ascending order. The set must not change meanwhile. */
  *[Symbol.iterator](): Iterator<number> {
    for (let at = 0; at < this.#chunks.length; at++) {
      for (let index = 0; index < this.#lengths[at]!; index++) yield this.#chunks[at]![index]!;
    }
  }

  /** The last chunk whose first number is at most this; −1: none. */
  #chunkOf(number: number): number {
    if (this.#size === 0) return -1;
    return upperIndex(this.#firsts, this.#chunks.length, number) - 1;
  }

  #insertChunk(at: number, length: number, first: number): Float64Array {
    const chunk = new Float64Array(CHUNK);
    this.#chunks.splice(at, 0, chunk);
    this.#lengths.splice(at, 0, length);
    this.#firsts.splice(at, 0, first);
    return chunk;
  }

  #removeChunk(at: number): void {
    this.#chunks.splice(at, 1);
    this.#lengths.splice(at, 1);
    this.#firsts.splice(at, 1);
  }

  #split(at: number): void {
    // After an insertion at the end only one number moves, so that ascending numbers fill their chunks.
    const kept = at === this.#chunks.length - 1 ? CHUNK - 1 : CHUNK / 2;
    const moved = this.#chunks[at]!.subarray(kept);
    this.#insertChunk(at + 1, CHUNK - kept, moved[0]!).set(moved);
    this.#lengths[at] = kept;
  }

  #joinNext(at: number): void {
    const length = this.#lengths[at]!;
    const more = this.#lengths[at + 1];
    if (more === undefined || length + more > CHUNK / 2) return;
    this.#chunks[at]!.set(this.#chunks[at + 1]!.subarray(0, more), length);
    this.#lengths[at] = length + more;
    this.#removeChunk(at + 1);
  }
}

/**
 * How many of the first `length` numbers are at most this. Branchless, because the direction of a binary
 * search is unpredictable.
 */
function upperIndex(numbers: ArrayLike<number>, length: number, number: number): number {
  if (length === 0) return 0;
  let low = 0;
  for (let left = length; left > 1; ) {
    const half = left >>> 1;
    low += half & -isAtMost(numbers[low + half - 1]!, number);
    left -= half;
  }
  return low + isAtMost(numbers[low]!, number);
}

function isAtMost(one: number, other: number): number {
  return Number(one <= other);
}
