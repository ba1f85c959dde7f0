import { grown } from './columns.js';

/** A search of `Points`: finds the point with the highest score, and among equals the highest `tie`. */
export interface PointSearch {
  /** Score of the best point so far; −Infinity: none qualifies. */
  readonly best: number;
  readonly bestTie: number;
  /**
   * Upper bound of the scores in a box; −Infinity: no point qualifies.
   *
   * @param lows lower bound of each column
   * @param highs upper bound of each column
   */
  bound(lows: Float64Array, highs: Float64Array): number;
  /** Upper bound of the ties in a box. @param leastId lowest id in it */
  tieBound(lows: Float64Array, highs: Float64Array, leastId: number): number;
  visit(id: number): void;
}

const CHUNK = 64;
/** Codes are integers below 2^52. */
const CODE_BITS = 52;

/**
 * An index of points with few columns, in chunks of neighboring points (Morton order). A search computes a bound for
 * each chunk and visits only chunks that may contain a better point than the best so far.
 */
export class Points {
  readonly #columns: number;
  readonly #ranges: readonly number[];
  readonly #bits: number;
  readonly #chunks: Chunk[] = [];
  /** Values by column, then by id. */
  #values = new Float64Array(0);
  /** Morton code by id; −1: absent. */
  #codes = new Float64Array(0);
  /** Upper bound of each chunk during a search. */
  #bounds = new Float64Array(0);

  /**
   * @param columns number of columns of each point
   * @param ranges upper bounds of the columns that form the Morton code; without any, points are ordered by
   * id
   */
  constructor(columns: number, ranges: readonly number[]) {
    this.#columns = columns;
    this.#ranges = ranges.map((range) => (range > 0 && range < Number.POSITIVE_INFINITY ? range : 1));
    this.#bits = Math.floor(CODE_BITS / Math.max(1, ranges.length));
  }

  has(id: number): boolean {
    return id < this.#codes.length && this.#codes[id]! >= 0;
  }

  /** Adds or moves a point. @param values missing columns are 0 */
  set(id: number, values: ArrayLike<number>): void {
    if (id >= this.#codes.length) this.#widen(id + 1);
    const code = this.#codeOf(values);
    const before = this.#codes[id]!;
    for (let column = 0; column < this.#columns; column++) {
      this.#values[id * this.#columns + column] = values[column] ?? 0;
    }
    if (before === code) {
      this.#chunks[this.#chunkOf(code, id)]!.isLoose = true;
      return;
    }
    if (before >= 0) this.#remove(before, id);
    this.#codes[id] = code;
    this.#insert(code, id);
  }

  delete(id: number): void {
    if (!this.has(id)) return;
    this.#remove(this.#codes[id]!, id);
    this.#codes[id] = -1;
  }

  /** Visits chunks in descending order of their bounds until none can contain a better point. */
  search(search: PointSearch): void {
    const chunks = this.#chunks;
    if (this.#bounds.length < chunks.length) this.#bounds = grown(this.#bounds, chunks.length);
    const bounds = this.#bounds;
    for (let at = 0; at < chunks.length; at++) {
      const chunk = chunks[at]!;
      if (chunk.isLoose) this.#tighten(chunk);
      bounds[at] = search.bound(chunk.lows, chunk.highs);
    }
    for (let at = this.#nextFor(search); at >= 0; at = this.#nextFor(search)) {
      bounds[at] = Number.NEGATIVE_INFINITY;
      const { ids, length } = chunks[at]!;
      for (let index = 0; index < length; index++) search.visit(ids[index]!);
    }
  }

  /** The chunk with the highest bound that may contain a better point; −1: none. */
  #nextFor(search: PointSearch): number {
    const { best, bestTie } = search;
    let next = -1;
    let highest = best;
    let highestTie = bestTie;
    for (let at = 0; at < this.#chunks.length; at++) {
      const bound = this.#bounds[at]!;
      if (bound === Number.NEGATIVE_INFINITY || bound < highest) continue;
      const { lows, highs, leastId } = this.#chunks[at]!;
      const tie = search.tieBound(lows, highs, leastId);
      if (bound === highest && tie < highestTie) continue;
      next = at;
      highest = bound;
      highestTie = tie;
    }
    return next;
  }

  #widen(size: number): void {
    const before = this.#codes.length;
    this.#codes = grown(this.#codes, size).fill(-1, before);
    this.#values = grown(this.#values, this.#codes.length * this.#columns);
  }

  /** Interleaves the bits of the columns, highest first. */
  #codeOf(values: ArrayLike<number>): number {
    const steps = 2 ** this.#bits;
    const digits = this.#ranges.map((range, column) => {
      const digit = Math.floor(((values[column] ?? 0) / range) * steps);
      return digit > 0 ? Math.min(digit, steps - 1) : 0;
    });
    let code = 0;
    for (let bit = steps / 2; bit >= 1; bit /= 2) {
      for (let column = 0; column < digits.length; column++) {
        code *= 2;
        if (digits[column]! < bit) continue;
        code++;
        digits[column]! -= bit;
      }
    }
    return code;
  }

  #insert(code: number, id: number): void {
    if (this.#chunks.length === 0) this.#chunks.push(new Chunk(this.#columns));
    let at = Math.max(0, this.#chunkOf(code, id));
    if (this.#chunks[at]!.length === CHUNK) {
      this.#split(at);
      at = Math.max(0, this.#chunkOf(code, id));
    }
    const chunk = this.#chunks[at]!;
    const index = chunk.indexOf(code, id);
    chunk.codes.copyWithin(index + 1, index, chunk.length);
    chunk.ids.copyWithin(index + 1, index, chunk.length);
    chunk.codes[index] = code;
    chunk.ids[index] = id;
    chunk.length++;
    chunk.isLoose = true;
  }

  #remove(code: number, id: number): void {
    const at = this.#chunkOf(code, id);
    const chunk = this.#chunks[at]!;
    const index = chunk.indexOf(code, id);
    chunk.codes.copyWithin(index, index + 1, chunk.length);
    chunk.ids.copyWithin(index, index + 1, chunk.length);
    chunk.length--;
    chunk.isLoose = true;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    else if (chunk.length < CHUNK / 4) this.#joinNext(at);
  }

  /** The last chunk that starts at or before this point; −1: none. */
  #chunkOf(code: number, id: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { codes, ids } = this.#chunks[middle]!;
      if (codes[0]! < code || (codes[0] === code && ids[0]! <= id)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #split(at: number): void {
    const chunk = this.#chunks[at]!;
    const half = CHUNK / 2;
    const next = new Chunk(this.#columns);
    next.codes.set(chunk.codes.subarray(half));
    next.ids.set(chunk.ids.subarray(half));
    next.length = chunk.length - half;
    chunk.length = half;
    chunk.isLoose = true;
    this.#chunks.splice(at + 1, 0, next);
  }

  #joinNext(at: number): void {
    const chunk = this.#chunks[at]!;
    const next = this.#chunks[at + 1];
    if (next === undefined || chunk.length + next.length > CHUNK / 2) return;
    chunk.codes.set(next.codes.subarray(0, next.length), chunk.length);
    chunk.ids.set(next.ids.subarray(0, next.length), chunk.length);
    chunk.length += next.length;
    this.#chunks.splice(at + 1, 1);
  }

  #tighten(chunk: Chunk): void {
    const columns = this.#columns;
    const { lows, highs, ids, length } = chunk;
    lows.fill(Number.POSITIVE_INFINITY);
    highs.fill(Number.NEGATIVE_INFINITY);
    chunk.leastId = ids[0]!;
    for (let index = 0; index < length; index++) {
      const id = ids[index]!;
      if (id < chunk.leastId) chunk.leastId = id;
      for (let column = 0; column < columns; column++) {
        const value = this.#values[id * columns + column]!;
        if (value < lows[column]!) lows[column] = value;
        if (value > highs[column]!) highs[column] = value;
      }
    }
    chunk.isLoose = false;
  }
}

/** A run of points in order of (code, id). */
class Chunk {
  readonly codes = new Float64Array(CHUNK);
  readonly ids = new Int32Array(CHUNK);
  length = 0;
  /** Whether the bounds must be recomputed. */
  isLoose = true;
  readonly lows: Float64Array;
  readonly highs: Float64Array;
  leastId = 0;

  constructor(columns: number) {
    this.lows = new Float64Array(columns);
    this.highs = new Float64Array(columns);
  }

  /** Position of the point, or of the first one after it. */
  indexOf(code: number, id: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.codes[middle]! < code || (this.codes[middle] === code && this.ids[middle]! < id))
        low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
