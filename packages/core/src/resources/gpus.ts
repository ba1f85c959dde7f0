import { LIMITS } from '../limits.js';

/** Integer units per GPU, so that sums of decimal fractions are exact. */
export const GPU_PARTS = 1e6;

/**
 * Assigns the GPUs of one worker. A whole amount gets the lowest free GPUs exclusively; a fraction comes from
 * the fullest GPU with enough room and never spans two GPUs.
 */
export class Gpus<Holder> {
  /** Units of a whole GPU. */
  readonly #whole: number;
  /** Free amount per index. */
  #free: number[];
  readonly #held = new Map<Holder, readonly Share[]>();

  private constructor(free: number[], whole: number) {
    this.#free = free;
    this.#whole = whole;
  }

  /**
   * @param amount in units; a remainder beyond whole GPUs is one smaller GPU
   * @returns undefined if the amount is not a number of devices
   */
  static of<Holder>(amount: number, whole: number): Gpus<Holder> | undefined {
    const count = Math.ceil(amount / whole);
    if (!(count > 0 && count <= LIMITS.gpusMax)) return undefined;
    return new Gpus(sizesOf(amount, whole), whole);
  }

  /** Sets how much is free, for views that do not know which task has which device. */
  setFree(room: number, parts: readonly number[]): void {
    this.#held.clear();
    const wholes = Math.floor(room / this.#whole) * this.#whole;
    this.#free =
      parts.length === 0 ? sizesOf(room, this.#whole) : [...sizesOf(wholes, this.#whole), ...parts];
  }

  /**
   * Sets the shares of all holders, as the worker reported them; a holder of undefined is unknown.
   *
   * @returns false, without a change, if the shares exceed a GPU
   */
  setHeld(capacity: number, shares: Iterable<Share & { readonly holder: Holder | undefined }>): boolean {
    const free = sizesOf(capacity, this.#whole);
    const held = new Map<Holder, Share[]>();
    for (const { holder, index, amount } of shares) {
      const left = free[index];
      if (left === undefined || !(amount > 0 && amount <= left)) return false;
      free[index] = left - amount;
      if (holder === undefined) continue;
      const known = held.get(holder);
      if (known === undefined) held.set(holder, [{ index, amount }]);
      else known.push({ index, amount });
    }
    this.#free = free;
    this.#held.clear();
    for (const [holder, known] of held) this.#held.set(holder, known);
    return true;
  }

  /**
   * Whole free GPUs plus the largest free part of another. An amount fits exactly if it is no more than this.
   */
  get room(): number {
    let wholes = 0;
    let part = 0;
    for (const free of this.#free) {
      if (free === this.#whole) wholes++;
      else part = Math.max(part, free);
    }
    return wholes * this.#whole + part;
  }

  /** Free amounts of partly used GPUs; `room` is not enough to tell them apart. */
  get parts(): readonly number[] {
    const parts = this.#free.filter((free) => free > 0 && free < this.#whole);
    return parts.length > 1 ? parts : [];
  }

  /**
   * The GPUs as they will be once these holders have released theirs. A part of an unknown GPU stays apart from all
   * others, so that it is never counted on to complete one.
   */
  after(ending: Iterable<Holder>, amountOf: (holder: Holder) => number): Gpus<Holder> {
    const free = [...this.#free];
    for (const holder of ending) {
      const shares = this.#held.get(holder);
      if (shares === undefined) free.push(...sizesOf(amountOf(holder), this.#whole));
      else for (const { index, amount } of shares) free[index]! += amount;
    }
    return new Gpus(free, this.#whole);
  }

  /** Returns how many holders of this amount fit at the same time. @param amount above 0 */
  countOf(amount: number): number {
    const rest = new Gpus<number>([...this.#free], this.#whole);
    let count = 0;
    while (rest.take(count, amount)) count++;
    return count;
  }

  /** @returns false if there is no room; the holder then gets nothing */
  take(holder: Holder, amount: number): boolean {
    if (amount > this.room) return false;
    const shares: Share[] = [];
    for (let left = amount; left > 0; left -= this.#whole) {
      const share = Math.min(this.#whole, left);
      const index = this.#fullestWith(share);
      this.#free[index]! -= share;
      shares.push({ index, amount: share });
    }
    if (shares.length > 0) this.#held.set(holder, shares);
    return true;
  }

  /** @returns whether the holder had any GPUs */
  release(holder: Holder): boolean {
    const shares = this.#held.get(holder);
    if (shares === undefined) return false;
    this.#held.delete(holder);
    for (const { index, amount } of shares) this.#free[index]! += amount;
    return true;
  }

  /** Indices in the order of assignment. */
  heldBy(holder: Holder): readonly number[] {
    return this.#held.get(holder)?.map(({ index }) => index) ?? [];
  }

  /** All holders and their shares. */
  get held(): Iterable<readonly [Holder, readonly Share[]]> {
    return this.#held;
  }

  /** The fullest GPU with room for the share; the lowest index among equals. */
  #fullestWith(share: number): number {
    let best = -1;
    for (const [index, free] of this.#free.entries())
      if (free >= share && (best < 0 || free < this.#free[best]!)) best = index;
    return best;
  }
}

/** Part of a GPU, or a whole one, in units. */
export interface Share {
  readonly index: number;
  readonly amount: number;
}

function sizesOf(amount: number, whole: number): number[] {
  const sizes = new Array<number>(Math.floor(amount / whole)).fill(whole);
  if (amount % whole > 0) sizes.push(amount % whole);
  return sizes;
}
