/** The median of the last so many numbers, in O(size) a number for the shifting and O(1) for the asking. */
export class RollingMedian {
  readonly #size: number;
  /** In order of arrival; the oldest is at `#next` once there are enough. */
  #ring: number[] = [];
  #next = 0;
  readonly #sorted: Float64Array;

  constructor(size: number) {
    this.#size = size;
    this.#sorted = new Float64Array(size);
  }

  add(value: number): void {
    const length = this.#ring.length;
    if (length < this.#size) {
      this.#insert(value, length);
      this.#ring.push(value);
      return;
    }
    const gone = placeOf(this.#sorted, this.#ring[this.#next]!, length);
    this.#sorted.copyWithin(gone, gone + 1, length);
    this.#insert(value, length - 1);
    this.#ring[this.#next] = value;
    this.#next = (this.#next + 1) % this.#size;
  }

  /** Undefined of none. By nearest rank. */
  get median(): number | undefined {
    const { length } = this.#ring;
    return length === 0 ? undefined : this.#sorted[(length - 1) >> 1];
  }

  /** Oldest first. */
  save(): number[] {
    return [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)];
  }

  load(values: readonly number[]): void {
    this.#ring = [];
    this.#next = 0;
    for (const value of values.slice(-this.#size)) this.add(value);
  }

  #insert(value: number, length: number): void {
    const place = placeOf(this.#sorted, value, length);
    this.#sorted.copyWithin(place + 1, place, length);
    this.#sorted[place] = value;
  }
}

/** The first place whose value is not smaller. */
function placeOf(sorted: Float64Array, value: number, length: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
