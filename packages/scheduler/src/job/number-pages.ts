const BITS = 10;
/** Number of indexes in a page. */
export const PAGE = 1 << BITS;
const MASK = PAGE - 1;

/** The numbers of a page, stored as offsets from the smallest number, plus one. 0: no number. */
interface Packed {
  readonly base: number;
  readonly offsets: Uint16Array;
}

type Numbers = Uint32Array | Float64Array;

/**
 * An array of positive numbers. A page whose numbers are close to each other can be packed to two bytes per number:
 * journal positions of neighboring tasks, or tasks that ended one after another.
 */
export class NumberPages {
  readonly #pages: (Numbers | Packed | undefined)[] = [];
  readonly #isWide: boolean;

  /** @param isWide numbers may exceed 32 bits */
  constructor(isWide: boolean) {
    this.#isWide = isWide;
  }

  /** Returns 0 if no number is set. */
  get(index: number): number {
    const page = this.#pages[index >> BITS];
    if (page === undefined) return 0;
    const at = index & MASK;
    if (!('offsets' in page)) return page[at] ?? 0;
    const offset = page.offsets[at] ?? 0;
    return offset === 0 ? 0 : page.base + offset - 1;
  }

  set(index: number, number: number): void {
    const at = index & MASK;
    this.#open(index >> BITS, at + 1)[at] = number;
  }

  /** Packs the page of this index if its numbers span less than 16 bits. */
  pack(index: number): void {
    const page = this.#pages[index >> BITS];
    if (page === undefined || 'offsets' in page) return;
    let base = Number.POSITIVE_INFINITY;
    let last = 0;
    for (const number of page) {
      if (number === 0) continue;
      base = Math.min(base, number);
      last = Math.max(last, number);
    }
    if (last - base >= 2 ** 16 - 1) return;
    const offsets = Uint16Array.from(page as Float64Array, (number) =>
      number === 0 ? 0 : number - base + 1,
    );
    this.#pages[index >> BITS] = { base, offsets };
  }

  /** Returns the page for writing, with capacity for at least `length` numbers. */
  #open(number: number, length: number): Numbers {
    const page = this.#pages[number];
    if (page !== undefined && !('offsets' in page) && page.length >= length) return page;
    const before = page === undefined ? [] : 'offsets' in page ? this.#unpacked(page) : page;
    const room = Math.min(PAGE, Math.max(4, length, 2 * before.length));
    const wider = this.#isWide ? new Float64Array(room) : new Uint32Array(room);
    wider.set(before);
    this.#pages[number] = wider;
    return wider;
  }

  #unpacked({ base, offsets }: Packed): Float64Array {
    return Float64Array.from(offsets, (offset) => (offset === 0 ? 0 : base + offset - 1));
  }
}
